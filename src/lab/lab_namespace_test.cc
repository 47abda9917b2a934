// Labs with real namespaces. Where the kernel or the user's rights do not allow them the tests are skipped, with the
// reason that a user would read.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "lab/lab.h"
#include "lab/lab_counters.h"
#include "lab/lab_routes.h"
#include "lab/namespace_command.h"
#include "lab/temporary_labs_example.h"
#include "topology/rail_fabric.h"

namespace fairlead::lab {
namespace {

const std::atomic<bool> kNeverStop = false;

// Two hosts with a bonded NIC on four leaves in two planes, two spines each: everything a lab can be made of.
LabPlan SmallPlan(uint64_t seed) {
  topology::RailSpec spec;
  spec.segments = 2;
  spec.hosts_per_segment = 1;
  spec.spines = 2;
  spec.host.gpus = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  spec.host.nics = 1;
  spec.host.ports_per_nic = 2;
  return PlanLab(topology::BuildRail(spec).value(),
                 {.scale = 1e-3, .hash_seed = seed, .queues_per_level = 2, .convergence_ms = 0})
      .value();
}

TEST(NamespaceTrialTest, FindsWhatBringingALabUpFinds) {
  const auto trial = TryNamespaces();
  const auto keeper = NewKeeper::Start(SmallPlan(1));
  ASSERT_EQ(trial.ok(), keeper.ok()) << trial.status().message() << keeper.status().message();
  if (!trial.ok()) GTEST_SKIP() << trial.status().message();
  EXPECT_EQ(trial->has_user_namespace, keeper->id().has_user_namespace);
  EXPECT_EQ(trial->missing_settings, keeper->missing_settings());
}

class LabNamespaces : public testing::Test {
 protected:
  void SetUp() override {
    auto up = Up("one", 1);
    if (!up.ok()) GTEST_SKIP() << up.status().message();
    state_ = std::move(*up);
  }

  Result<LabState> Up(const std::string& name, uint64_t seed) {
    FL_ASSIGN_OR_RETURN(const LabFolder folder, LabFolder::Open(folder_.path(), name));
    return BringUp(folder, "test", SmallPlan(seed), kNeverStop);
  }

  // The output of a command in a node.
  std::string Run(const LabState& state, const char* node, std::vector<std::string> args) {
    const auto outcomes = RunCommands(state.keeper, {{FindNode(state.plan, node), std::move(args), ""}});
    EXPECT_TRUE(outcomes.ok());
    return outcomes.ok() ? outcomes->front().output + outcomes->front().errors : "";
  }

  // The interface by which leaf0 sends a connection of host 0 to host 1.
  std::string InterfaceFor(const LabState& state, int port) {
    const std::string text = Run(state, "leaf0",
                                 {"ip", "route", "get", FormatAddress(state.plan.nics[NicId(1u)].address), "from",
                                  FormatAddress(state.plan.nics[NicId(0u)].address), "iif", "p0", "ipproto", "6",
                                  "sport", std::to_string(port), "dport", "20000"});
    const size_t at = text.find(" dev ");
    return at == text.npos ? text : text.substr(at + 5, text.find(' ', at + 5) - at - 5);
  }

  // False: it does not become so within a minute.
  template <class Condition>
  static bool WaitUntil(const Condition& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!condition() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  }

  // Processes in the network namespace `network` ("net:[4026532000]\n").
  static size_t CountProcesses(const std::string& network) {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::error_code error;
      const auto link = std::filesystem::read_symlink(entry.path() / "ns/net", error);
      count += !error && link.string() + "\n" == network;
    }
    return count;
  }

  const TemporaryLabs folder_{};
  LabState state_;
};

TEST_F(LabNamespaces, LeavesRouteOverBothSpinesByTheFiveTuple) {
  std::set<std::string> interfaces;
  for (int port = 50'000; port < 50'032; ++port) {
    const std::string first = InterfaceFor(state_, port);
    EXPECT_EQ(InterfaceFor(state_, port), first);
    interfaces.insert(first);
  }
  // 32 ports over 2 spines miss one of them with a chance of 2^-31.
  EXPECT_EQ(interfaces, (std::set<std::string>{"p1", "p2"}));
}

// Also where the kernel chose the source port when the connection began, and, since Linux 6.16, the cable before that.
TEST_F(LabNamespaces, WhatABondedNicSendsLeavesByTheHashOfItsHeader) {
  const std::string from = FormatAddress(state_.plan.nics[NicId(0u)].address);
  const std::string to = FormatAddress(state_.plan.nics[NicId(1u)].address);
  Run(state_, "h0",
      {"nft",
       "add table inet seen; add set inet seen ports { type ifname . inet_service; flags dynamic; "
       "size 256; }; add chain inet seen leave { type filter hook postrouting priority 200; }; "
       "add rule inet seen leave tcp dport 20000 update @ports { oifname . tcp sport }"});
  // Nothing listens: each connection is one packet.
  Run(state_, "h0", {"bash", "-c", "for i in {1..16}; do (exec 3<>/dev/tcp/" + to + "/20000); done 2>/dev/null"});
  std::string text = Run(state_, "h0", {"nft", "list", "set", "inet", "seen", "ports"});
  // elements = { "nic0p0" . 50412, "nic0p1" . 50414, … }
  const std::regex element("\"(nic0p[01])\" \\. ([0-9]+)");
  std::set<std::string> ports;
  for (std::sregex_iterator found(text.begin(), text.end(), element), end; found != end; ++found) {
    const std::string route = Run(
        state_, "h0", {"ip", "route", "get", to, "from", from, "ipproto", "6", "sport", (*found)[2], "dport", "20000"});
    EXPECT_NE(route.find(" dev " + (*found)[1].str() + " "), std::string::npos) << (*found)[0] << ": " << route;
    EXPECT_TRUE(ports.insert((*found)[2]).second) << "a connection that used both cables";
  }
  EXPECT_EQ(ports.size(), 16u) << text;
}

TEST_F(LabNamespaces, ACutCableIsAvoidedAndComesBack) {
  auto folder = LabFolder::Open(folder_.path(), "one");
  ASSERT_TRUE(folder.ok());
  std::vector<std::string> before;
  for (int port = 50'000; port < 50'008; ++port) before.push_back(InterfaceFor(state_, port));
  const CableId cable = FindCable(state_.plan, "leaf0-spine0");
  ASSERT_TRUE(cable.valid());
  ASSERT_TRUE(SetCableHealth(*folder, &state_, cable, 0).ok());
  for (int port = 50'000; port < 50'008; ++port) EXPECT_EQ(InterfaceFor(state_, port), "p2");
  EXPECT_EQ(folder->Load().value(), state_) << "the state on disk follows";
  ASSERT_TRUE(SetCableHealth(*folder, &state_, cable, 1).ok());
  for (int port = 50'000; port < 50'008; ++port) {
    EXPECT_EQ(InterfaceFor(state_, port), before[static_cast<size_t>(port - 50'000)]);
  }
}

TEST_F(LabNamespaces, ADegradedCableHasAnotherSpeed) {
  auto folder = LabFolder::Open(folder_.path(), "one");
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(SetCableHealth(*folder, &state_, FindCable(state_.plan, "leaf0-spine0"), 0.25).ok());
  // Uplinks of leaf0: one host port of 200 Gb/s over two spines, a thousandth here, a quarter of it left.
  EXPECT_NE(Run(state_, "leaf0", {"tc", "class", "show", "dev", "p1"}).find("rate 25Mbit ceil 25Mbit"),
            std::string::npos);
  EXPECT_NE(Run(state_, "leaf0", {"tc", "class", "show", "dev", "p2"}).find("rate 100Mbit ceil 100Mbit"),
            std::string::npos);
}

TEST_F(LabNamespaces, TwoLabsRunSideBySide) {
  const auto other = Up("two", 2);
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(LabFolder::List(folder_.path()), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(ReadCounters(*other).ok());
  const auto again = Up("two", 2);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(IsAlive(other->keeper)) << "a refused `up` must not touch the lab";
}

TEST_F(LabNamespaces, NothingIsLeftAfterDownAndDownIsIdempotent) {
  auto folder = LabFolder::Open(folder_.path(), "one");
  ASSERT_TRUE(folder.ok());
  bool was_up = false;
  ASSERT_TRUE(TakeDown(*folder, &was_up).ok());
  EXPECT_TRUE(was_up);
  EXPECT_FALSE(IsAlive(state_.keeper));
  EXPECT_FALSE(ReadCounters(state_).ok());
  ASSERT_TRUE(TakeDown(*folder, &was_up).ok());
  EXPECT_FALSE(was_up);
  EXPECT_TRUE(LabFolder::List(folder_.path()).empty());
}

TEST_F(LabNamespaces, AnInterruptedUpLeavesNothing) {
  const std::atomic<bool> stop = true;
  const auto folder = LabFolder::Open(folder_.path(), "two");
  ASSERT_TRUE(folder.ok());
  const auto up = BringUp(*folder, "test", SmallPlan(1), stop);
  ASSERT_FALSE(up.ok());
  EXPECT_EQ(up.status().code(), StatusCode::kCancelled);
  EXPECT_EQ(LabFolder::List(folder_.path()), std::vector<std::string>{"one"});
  EXPECT_FALSE(std::filesystem::exists(folder_.File("two")));
}

TEST_F(LabNamespaces, ALabWhoseProcessDiedCanBeBroughtUpAgain) {
  ASSERT_TRUE(EndKeeper(state_.keeper).ok());
  const auto again = Up("one", 1);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_NE(again->keeper.pid, state_.keeper.pid);
}

TEST_F(LabNamespaces, ADaemonRunsInItsHostAndEndsWithTheLab) {
  const std::string log = folder_.File("daemon.log");
  const LabNodeId host = FindNode(state_.plan, "h1");
  // The number of the process as seen by this machine is in none of its own files; its network is.
  ASSERT_TRUE(
      StartDaemon(state_.keeper, host, {"/bin/sh", "-c", "readlink /proc/self/ns/net; exec sleep 600"}, log).ok());
  const std::string expected = Run(state_, "h1", {"readlink", "/proc/self/ns/net"});
  const auto said = [&] {
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    return text.str();
  };
  EXPECT_TRUE(WaitUntil([&] { return said() == expected; })) << said() << expected;
  // What it started first has ended, and the program of Run() as well.
  EXPECT_TRUE(WaitUntil([&] { return CountProcesses(expected) == 1; })) << CountProcesses(expected);
  ASSERT_TRUE(EndKeeper(state_.keeper).ok());
  EXPECT_TRUE(WaitUntil([&] { return CountProcesses(expected) == 0; })) << CountProcesses(expected);
}

TEST_F(LabNamespaces, HostsKnowEachOtherByName) {
  auto folder = LabFolder::Open(folder_.path(), "one");
  ASSERT_TRUE(folder.ok());
  std::ifstream file(folder->HostsFile());
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), "127.0.0.1 localhost\n10.0.0.1 h0 h0-nic0\n10.0.1.1 h1 h1-nic0\n");
}

TEST_F(LabNamespaces, CountersSeeTraffic) {
  const auto before = ReadCounters(state_);
  ASSERT_TRUE(before.ok());
  Run(state_, "h0",
      {"bash", "-c",
       "exec 3<>/dev/udp/" + FormatAddress(state_.plan.nics[NicId(1u)].address) + "/9; head -c 1000 /dev/zero >&3"});
  // A datagram of 1000 bytes leaves host 0 by one of its two ports and arrives at a port of host 1.
  uint64_t sent = 0;
  uint64_t arrived = 0;
  EXPECT_TRUE(WaitUntil([&] {
    const auto after = ReadCounters(state_);
    sent = arrived = 0;
    for (CableId cable(0u); after.ok() && cable.index() < state_.plan.cables.size();
         cable = CableId(cable.index() + 1)) {
      const NicId nic = state_.plan.cables[cable].nic;
      if (nic == NicId(0u)) sent += after->cables[cable][0].sent_bytes - before->cables[cable][0].sent_bytes;
      if (nic == NicId(1u)) arrived += after->cables[cable][1].sent_bytes - before->cables[cable][1].sent_bytes;
    }
    return sent >= 1000 && arrived == sent;
  })) << sent
      << " sent, " << arrived << " arrived";
}

}  // namespace
}  // namespace fairlead::lab
