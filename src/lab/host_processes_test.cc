// Hosts that lose their power and come back, and faults of one direction, with real namespaces. Where the kernel or the
// user's rights do not allow them the tests are skipped, with the reason that a user would read.
#include "lab/host_processes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "lab/lab.h"
#include "lab/namespace_command.h"
#include "lab/temporary_labs_example.h"
#include "topology/clos_fabrics.h"

namespace fairlead::lab {
namespace {

const std::atomic<bool> kNotStopped = false;

LabPlan TwoHosts() {
  topology::ClosSpec spec;
  spec.leaves = 1;
  spec.hosts_per_leaf = 2;
  spec.spines = 1;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return PlanLab(topology::BuildClos(spec).value(), {.scale = 1e-3, .queues_per_level = 2, .convergence_ms = 0})
      .value();
}

class HostProcesses : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = LabFolder::Open(folder_.path(), "one");
    ASSERT_TRUE(folder.ok()) << folder.status().message();
    auto up = BringUp(*folder, "test", TwoHosts(), kNotStopped);
    if (!up.ok()) GTEST_SKIP() << up.status().message();
    state_ = std::move(*up);
  }

  // Waits for what the kernel does in its own time.
  template <class Condition>
  static void WaitFor(const Condition& condition) {
    while (!condition()) std::this_thread::yield();
  }

  std::string Show(const char* node, const std::string& what) {
    const auto outcomes = RunCommands(
        state_.keeper, {{FindNode(state_.plan, node), {"sh", "-c", "tc " + what + " show dev " + Interface()}, ""}});
    EXPECT_TRUE(outcomes.ok());
    return outcomes.ok() ? outcomes->front().output + outcomes->front().errors : "";
  }
  std::string Interface() const { return state_.plan.cables[CableId(0u)].ends[0].interface; }

  const TemporaryLabs folder_{};
  LabState state_;
};

TEST_F(HostProcesses, AHostLosesAllThatRunsInItAndItsDaemonsComeBack) {
  const LabNodeId h0 = FindNode(state_.plan, "h0");
  const LabNodeId h1 = FindNode(state_.plan, "h1");
  const std::string log = folder_.File("sleep.log");
  ASSERT_TRUE(StartDaemon(state_.keeper, h0, {"/bin/sleep", "1000"}, log).ok());
  ASSERT_TRUE(StartDaemon(state_.keeper, h1, {"/bin/sleep", "2000"}, log).ok());
  // Until both have become their programs.
  const auto args = [](pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
    std::string text;
    std::getline(file, text);
    return text;
  };
  const std::string own(
      "/bin/sleep\0"
      "1000\0",
      16);
  WaitFor([&] {
    const auto pids = FindProcesses(state_.keeper, h0);
    return pids.size() == 1 && args(pids[0]) == own;
  });
  WaitFor([&] { return FindProcesses(state_.keeper, h1).size() == 1; });

  const auto daemons = KillProcesses(state_.keeper, h0);
  ASSERT_EQ(daemons.size(), 1u);
  EXPECT_EQ(daemons[0], (HostDaemon{{"/bin/sleep", "1000"}, log}));
  WaitFor([&] { return FindProcesses(state_.keeper, h0).empty(); });
  EXPECT_EQ(FindProcesses(state_.keeper, h1).size(), 1u) << "another host is not touched";

  ASSERT_TRUE(StartDaemons(state_.keeper, h0, daemons).ok());
  WaitFor([&] { return FindProcesses(state_.keeper, h0).size() == 1; });
}

TEST_F(HostProcesses, SwitchesAreNoHosts) {
  // The process that holds the lab is in the network of the last node it made.
  for (LabNodeId node(0u); node.index() < state_.plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    EXPECT_TRUE(FindProcesses(state_.keeper, node).empty()) << state_.plan.nodes[node].name;
  }
}

TEST_F(HostProcesses, OneDirectionOfACableIsSlowedDownAndGoesBack) {
  const CableId cable(0u);
  ASSERT_EQ(state_.plan.cables[cable].bits_per_s, 200e6);
  const auto has = [&](const char* rate) {
    return Show("h0", "class").find(std::string("class htb 1:ffff root rate ") + rate) != std::string::npos;
  };
  EXPECT_TRUE(has("200Mbit")) << Show("h0", "class");
  ASSERT_TRUE(SetEndSpeed(state_, cable, 0, 0.5).ok());
  EXPECT_TRUE(has("100Mbit")) << Show("h0", "class");
  // What the other end sends is shaped there.
  ASSERT_TRUE(SetEndSpeed(state_, cable, 1, 0.25).ok());
  EXPECT_TRUE(has("100Mbit")) << Show("h0", "class");
  ASSERT_TRUE(SetEndSpeed(state_, cable, 0, 1).ok());
  EXPECT_TRUE(has("200Mbit")) << Show("h0", "class");
}

TEST_F(HostProcesses, AConnectionHasAClassOfItsOwnUntilThatIsTakenAway) {
  const CableId cable(0u);
  const ConnectionFilter filter{.from = 0x0a000001, .to = 0x0a000101};
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(SlowConnections(state_, cable, 0, filter, 0.1).ok());
    EXPECT_NE(Show("h0", "class").find("class htb 1:fffe root"), std::string::npos) << Show("h0", "class");
    EXPECT_NE(Show("h0", "filter").find("pref 1 bpf"), std::string::npos);
    ASSERT_TRUE(EndSlowConnections(state_, cable, 0).ok());
    EXPECT_EQ(Show("h0", "class").find("1:fffe"), std::string::npos);
    EXPECT_EQ(Show("h0", "filter").find("pref 1 bpf"), std::string::npos);
    EXPECT_NE(Show("h0", "filter").find("pref 2 bpf"), std::string::npos) << "that of the levels stays";
  }
}

}  // namespace
}  // namespace fairlead::lab
