// Machines that lack one thing each: the check of that thing says so, says what to do, and no other check changes.
#include "cli/doctor/doctor_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

namespace fairlead::cli {
namespace {

using testing::HasSubstr;

constexpr int64_t kNow = 1'800'000'000;
constexpr int64_t kDay = 86'400;

Status Refused(std::string why) { return {StatusCode::kFailedPrecondition, std::move(why)}; }

// Has everything, until a test takes something away.
class FakeMachine : public Machine {
 public:
  std::map<std::string, std::string> files = {
      {"/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n"},
      // Bits 12, 13 and 19: 0x1000 + 0x2000 + 0x80000.
      {"/proc/self/status", "Name:\tdoctor\nCapPrm:\t0000000000000000\nCapEff:\t0000000000083000\n"},
      {"/proc/sys/net/ipv4/fib_multipath_hash_policy", "1\n"},
      {"/proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n"},
      {"/proc/self/limits",
       "Limit                     Soft Limit           Hard Limit           Units\n"
       "Max open files            1024                 1048576              files\n"},
  };
  std::set<std::string> tools = {"ip", "tc", "nft"};
  std::set<std::string> programs = {"fairlead", "fairlead-lab", "fairlead-agent", "fairlead-controller",
                                    "fairlead-trainer"};
  std::map<std::string, std::string> variables = {{"NCCL_PROFILER_PLUGIN", "/lib/profiler.so"}};
  std::map<std::string, int> libraries = {{"/lib/steer.so", 0}, {"libnccl.so.2", 22'703}};  // with NCCL's version
  std::set<std::string> profilers = {"/lib/profiler.so"};
  std::vector<std::string> packaged_nccl;
  std::map<std::string, std::string> commands = {
      {"chronyc", "C0A80001,ntp.example,3,1800000000.5,-0.000012,0,0,0,0,0,0,0,64.2,Normal\n"}};
  std::set<std::string> taken_addresses;
  Result<uint64_t> room = uint64_t{1} << 30;
  Result<lab::NamespaceTrial> trial = lab::NamespaceTrial{};
  bool has_steering_library = true, has_profiler_plugin = true, has_data = true;
  Status agent;
  Result<std::optional<service::ClockComparison>> controller =
      std::optional(service::ClockComparison{.offset_s = 0.001, .error_s = 0.002});
  Result<service::CertificateFacts> tls = service::CertificateFacts{.name = "h0",
                                                                    .not_before_s = kNow - kDay,
                                                                    .not_after_s = kNow + 100 * kDay,
                                                                    .is_of_key = true,
                                                                    .is_of_authority = true};

  Result<std::string> Read(const std::string& path) const override {
    const auto found = files.find(path);
    if (found == files.end()) return NotFound(path + ": no such file");
    return found->second;
  }
  std::string FindTool(const std::string& name) const override {
    return tools.contains(name) ? "/usr/sbin/" + name : "";
  }
  Result<std::string> Run(const std::vector<std::string>& command) const override {
    const auto found = commands.find(command.front());
    if (found == commands.end()) return Unavailable(command.front() + ": not found");
    return found->second;
  }
  std::string Variable(const std::string& name) const override {
    const auto found = variables.find(name);
    return found == variables.end() ? "" : found->second;
  }
  Result<uint64_t> RoomIn(const std::string&) const override { return room; }
  int64_t Now() const override { return kNow; }
  Result<std::string> FindProgram(const std::string& name) const override {
    if (!programs.contains(name)) return NotFound(name);
    return "/usr/bin/" + name;
  }
  Result<std::string> FindSteeringLibrary() const override {
    if (!has_steering_library) return NotFound("no libfairlead-steer.so");
    return std::string("/lib/steer.so");
  }
  Result<std::string> FindProfilerPlugin() const override {
    if (!has_profiler_plugin) return NotFound("no libnccl-profiler-fairlead.so");
    return std::string("/lib/profiler.so");
  }
  Result<std::string> FindData(const std::string& name) const override {
    if (!has_data) return NotFound("no folder " + name);
    return "/usr/share/fairlead/" + name;
  }
  Result<LoadedLibrary> Load(const std::string& name) const override {
    const auto found = libraries.find(name);
    if (found == libraries.end()) return Refused(name + ": cannot open shared object file");
    return LoadedLibrary{name, found->second};
  }
  Result<LoadedLibrary> LoadProfiler(const std::string& name) const override {
    if (!profilers.contains(name)) return NotFound("no profiler plugin '" + name + "'");
    return LoadedLibrary{name};
  }
  std::vector<std::string> PackagedNccl() const override { return packaged_nccl; }
  Result<lab::NamespaceTrial> TryNamespaces() const override { return trial; }
  Status ReachAgent(const std::string&) const override { return agent; }
  Status TryListening(const std::string& address) const override {
    return taken_addresses.contains(address) ? Refused("another program has this port") : OkStatus();
  }
  Result<std::optional<service::ClockComparison>> ReachController(
      const service::ControllerClientOptions&) const override {
    return controller;
  }
  Result<service::CertificateFacts> ReadTls(const service::TlsFiles&) const override { return tls; }
};

// With a controller and TLS, so that every check is made.
DoctorOptions AllChecks() {
  DoctorOptions options;
  options.controller.address = "10.0.0.1:7070";
  options.controller.tls = {"ca.pem", "h0.pem", "h0-key.pem"};
  return options;
}

CheckResult ResultOf(const std::vector<CheckResult>& results, const std::string& check) {
  for (const CheckResult& result : results) {
    if (result.check == check) return result;
  }
  ADD_FAILURE() << "no check " << check;
  return {};
}

TEST(DoctorChecksTest, NothingIsToBeDoneWhereEverythingIs) {
  const auto results = CheckMachine(FakeMachine(), AllChecks());
  EXPECT_GT(results.size(), 20u);
  for (const CheckResult& result : results) {
    EXPECT_EQ(result.state, CheckState::kGood) << result.check << ": " << result.found;
    EXPECT_EQ(result.to_do, "") << result.check;
    EXPECT_NE(result.found, "") << result.check;
    EXPECT_FALSE(result.needed_for.empty()) << result.check;
  }
  EXPECT_TRUE(IsReady(results));
}

TEST(DoctorChecksTest, GpusThatCountTheirWorkAreNamed) {
  FakeMachine machine;
  EXPECT_EQ(ResultOf(CheckMachine(machine, AllChecks()), "GPUs").found, "none");
  machine.tools.insert("nvidia-smi");
  machine.commands["/usr/sbin/nvidia-smi"] = "NVIDIA H100 80GB HBM3, 9.0\nNVIDIA B200, 10.0\n";
  const CheckResult result = ResultOf(CheckMachine(machine, AllChecks()), "GPUs");
  EXPECT_EQ(result.found, "2, the first: NVIDIA H100 80GB HBM3");
  EXPECT_EQ(result.state, CheckState::kGood);
}

struct Lack {
  std::string check;
  CheckState state;
  std::string found;  // a part of it
  std::string to_do;  // a part of it
  std::function<void(FakeMachine*)> take_away;
};

std::vector<Lack> Lacks() {
  const auto advice = CheckState::kAdvice;
  const auto missing = CheckState::kMissing;
  return {
      {"fairlead", missing, "not beside", "--target fairlead\n", [](auto* m) { m->programs.erase("fairlead"); }},
      {"fairlead-lab", missing, "not beside", "--target fairlead-lab",
       [](auto* m) { m->programs.erase("fairlead-lab"); }},
      {"fairlead-agent", missing, "not beside", "fairlead-agent", [](auto* m) { m->programs.erase("fairlead-agent"); }},
      {"model profiles", missing, "no folder", "cmake --install", [](auto* m) { m->has_data = false; }},
      {"kernel 5.12 or later", missing, "5.11.9", "linux-image",
       [](auto* m) { m->files["/proc/sys/kernel/osrelease"] = "5.11.9\n"; }},
      {"network namespaces", missing, "refused", "Run as root", [](auto* m) { m->trial = Refused("Run as root"); }},
      {"ip", missing, "not in PATH", "apt-get install iproute2", [](auto* m) { m->tools.erase("ip"); }},
      {"tc", missing, "not in PATH", "apt-get install iproute2", [](auto* m) { m->tools.erase("tc"); }},
      {"nft", advice, "not in PATH", "apt-get install nftables", [](auto* m) { m->tools.erase("nft"); }},
      // Bits 12 and 19.
      {"rights of this user", advice, "lacks CAP_NET_RAW", "AmbientCapabilities=CAP_NET_RAW\n",
       [](auto* m) { m->files["/proc/self/status"] = "CapEff:\t0000000000081000\n"; }},
      {"rights of this user", advice, "CAP_NET_ADMIN CAP_NET_RAW CAP_SYS_PTRACE", "Run the agent as root",
       [](auto* m) { m->files.erase("/proc/self/status"); }},
      {"fib_multipath_hash_policy", advice, "0", "sysctl -w net.ipv4.fib_multipath_hash_policy=1",
       [](auto* m) { m->files["/proc/sys/net/ipv4/fib_multipath_hash_policy"] = "0\n"; }},
      {"ip_local_port_range", advice, "1024 to 65535", "ip_local_port_range=\"32768 60999\"",
       [](auto* m) { m->files["/proc/sys/net/ipv4/ip_local_port_range"] = "1024\t65535\n"; }},
      {"GPUs", advice, "2, the first: NVIDIA A100-SXM4-80GB", "Crux does not rank the jobs on it",
       [](auto* m) {
         m->tools.insert("nvidia-smi");
         m->commands["/usr/sbin/nvidia-smi"] = "NVIDIA A100-SXM4-80GB, 8.0\nNVIDIA H100 80GB HBM3, 9.0\n";
       }},
      {"GPUs", advice, "not found", "The driver does not answer", [](auto* m) { m->tools.insert("nvidia-smi"); }},
      {"limit of open files", advice, "4096", "ulimit -Hn 65536",
       [](auto* m) {
         m->files["/proc/self/limits"] = "Max open files            1024                 4096    files\n";
       }},
      {"limit of open files", advice, "unknown", "ulimit", [](auto* m) { m->files["/proc/self/limits"] = "junk\n"; }},
      {"/dev/shm", missing, "No such file", "mount -t tmpfs", [](auto* m) { m->room = Refused("No such file"); }},
      // 16 processes of 4 MiB need 64 MiB.
      {"/dev/shm", advice, "63 MiB", "remount", [](auto* m) { m->room = uint64_t{63} << 20; }},
      {"steering library", missing, "not where", "fairlead_steer", [](auto* m) { m->has_steering_library = false; }},
      {"steering library", missing, "can't be loaded", "cannot open shared object",
       [](auto* m) { m->libraries.erase("/lib/steer.so"); }},
      {"NCCL", advice, "no libnccl", "container", [](auto* m) { m->libraries.erase("libnccl.so.2"); }},
      {"NCCL", advice, "2.22.3", "NCCL 2.23", [](auto* m) { m->libraries["libnccl.so.2"] = 22'203; }},
      {"NCCL_PROFILER_PLUGIN", advice, "not set", "export NCCL_PROFILER_PLUGIN=/lib/profiler.so\n",
       [](auto* m) { m->variables.clear(); }},
      {"NCCL_PROFILER_PLUGIN", missing, "/old.so", "no profiler plugin '/old.so'",
       [](auto* m) { m->variables["NCCL_PROFILER_PLUGIN"] = "/old.so"; }},
      {"clock", advice, "chrony is not in step", "apt-get install chrony",
       [](auto* m) { m->commands["chronyc"] = "7F7F0101,,0,0.0,0,0,0,0,0,0,0,0,0,Not synchronised\n"; }},
      {"clock", advice, "neither", "apt-get install chrony", [](auto* m) { m->commands.clear(); }},
      {"clock", advice, "not in step", "chrony",
       [](auto* m) {
         m->commands = {{"timedatectl", "no\n"}};
       }},
      {"TLS files", missing, "can't be used", "chmod 600", [](auto* m) { m->tls = InvalidArgument("run chmod 600"); }},
      {"TLS files", missing, "key is not that", "h", [](auto* m) { m->tls->is_of_key = false; }},
      {"TLS files", missing, "authority did not sign", "ca.pem", [](auto* m) { m->tls->is_of_authority = false; }},
      {"TLS files", missing, "valid only from 2027-01-16", "clock",
       [](auto* m) { m->tls->not_before_s = kNow + kDay; }},
      // 1,800,000,000 s is 2027-01-15 08:00 UTC. At its last second a certificate is over.
      {"TLS files", missing, "expired on 2027-01-15", "fairlead cert host",
       [](auto* m) { m->tls->not_after_s = kNow; }},
      {"TLS files", advice, "valid until 2027-02-13", "fairlead cert host",
       [](auto* m) { m->tls->not_after_s = kNow + 29 * kDay; }},
      {"address 0.0.0.0:7070", advice, "not free", "ss -ltnp sport = :7070",
       [](auto* m) { m->taken_addresses = {"0.0.0.0:7070"}; }},
      {"agent of this host", advice, "none", "fairlead agent run", [](auto* m) { m->agent = Refused("no socket"); }},
      {"controller", missing, "10.0.0.1:7070 does not answer", "refused by the peer",
       [](auto* m) { m->controller = Refused("refused by the peer"); }},
  };
}

TEST(DoctorChecksTest, WhatIsMissingIsReportedByItsCheckOnly) {
  for (const Lack& lack : Lacks()) {
    SCOPED_TRACE(lack.check + ": " + lack.found);
    FakeMachine machine;
    lack.take_away(&machine);
    const auto results = CheckMachine(machine, AllChecks());
    const CheckResult own = ResultOf(results, lack.check);
    EXPECT_EQ(own.state, lack.state);
    EXPECT_THAT(own.found, HasSubstr(lack.found));
    EXPECT_THAT(own.to_do, HasSubstr(lack.to_do));
    EXPECT_EQ(IsReady(results), lack.state != CheckState::kMissing);
    for (const CheckResult& result : results) {
      if (result.check == lack.check) continue;
      EXPECT_EQ(result.state, CheckState::kGood) << result.check;
    }
  }
}

TEST(DoctorChecksTest, APluginThatIsNotThereIsMissingTwice) {
  FakeMachine machine;
  machine.profilers.clear();
  const auto results = CheckMachine(machine, AllChecks());
  EXPECT_EQ(ResultOf(results, "profiler plugin").state, CheckState::kMissing);
  EXPECT_EQ(ResultOf(results, "NCCL_PROFILER_PLUGIN").state, CheckState::kMissing);
}

TEST(DoctorChecksTest, KernelsAreHeldToWhatEachUseNeeds) {
  const auto state = [](const std::string& version, const std::string& check) {
    FakeMachine machine;
    machine.files["/proc/sys/kernel/osrelease"] = version;
    return ResultOf(CheckMachine(machine, {}), check).state;
  };
  EXPECT_EQ(state("5.12.0\n", "kernel 5.12 or later"), CheckState::kGood);
  EXPECT_EQ(state("5.6-rc1\n", "kernel 5.6 or later"), CheckState::kGood);
  EXPECT_EQ(state("5.6.0\n", "kernel 5.12 or later"), CheckState::kMissing);
  EXPECT_EQ(state("5.5.99\n", "kernel 5.6 or later"), CheckState::kMissing);
  EXPECT_EQ(state("4.20.1\n", "kernel 5.6 or later"), CheckState::kMissing);  // 20 > 6, but 4 < 5
  EXPECT_EQ(state("6.0.0\n", "kernel 5.12 or later"), CheckState::kGood);     // 0 < 12, but 6 > 5
  EXPECT_EQ(state("", "kernel 5.6 or later"), CheckState::kMissing);
  EXPECT_EQ(state("6\n", "kernel 5.6 or later"), CheckState::kMissing);
}

TEST(DoctorChecksTest, AUseIsAskedOnlyForWhatItNeeds) {
  FakeMachine bare;
  bare.tools.clear();
  bare.trial = Refused("no");
  bare.has_steering_library = false;
  DoctorOptions options = AllChecks();
  for (const Role role : kRoles) {
    options.roles = {role};
    const auto results = CheckMachine(bare, options);
    EXPECT_FALSE(results.empty());
    for (const CheckResult& result : results) {
      EXPECT_THAT(result.needed_for, testing::Contains(role)) << result.check;
    }
    EXPECT_EQ(IsReady(results), role == Role::kSim || role == Role::kController) << NameOf(role);
  }
}

TEST(DoctorChecksTest, AnAddressThatWasAskedForHasToBeFree) {
  FakeMachine machine;
  machine.taken_addresses = {"10.0.0.1:9000", "unix:/run/f.sock"};
  DoctorOptions options;
  options.listen = {"10.0.0.1:9000", "unix:/run/f.sock", "10.0.0.1:9001"};
  const auto results = CheckMachine(machine, options);
  EXPECT_EQ(ResultOf(results, "address 10.0.0.1:9000").state, CheckState::kMissing);
  EXPECT_THAT(ResultOf(results, "address unix:/run/f.sock").to_do, HasSubstr("grep /run/f.sock"));
  EXPECT_EQ(ResultOf(results, "address 10.0.0.1:9001").state, CheckState::kGood);
}

TEST(DoctorChecksTest, WithoutAddressAndKeysThereIsNoRequest) {
  FakeMachine machine;
  machine.controller = Refused("must not be asked");
  machine.tls = InvalidArgument("must not be read");
  EXPECT_TRUE(IsReady(CheckMachine(machine, {})));
}

TEST(DoctorChecksTest, NcclOfAPythonPackageCounts) {
  FakeMachine machine;
  machine.libraries.erase("libnccl.so.2");
  machine.libraries["/venv/libnccl.so.2"] = 22'304;
  machine.packaged_nccl = {"/broken/libnccl.so.2", "/venv/libnccl.so.2"};
  const CheckResult result = ResultOf(CheckMachine(machine, {}), "NCCL");
  EXPECT_EQ(result.state, CheckState::kGood);
  EXPECT_EQ(result.found, "2.23.4, /venv/libnccl.so.2");
}

TEST(DoctorChecksTest, TheControllersClockIsComparedAsFarAsTheExchangeAllows) {
  struct Comparison {
    double offset_s, error_s;
    CheckState state;
    const char* found;
  };
  const Comparison comparisons[] = {
      {0.001, 0.002, CheckState::kGood, "10.0.0.1:7070 answers; its clock agrees within 3 ms"},
      {-0.09, 0.002, CheckState::kGood, "10.0.0.1:7070 answers; its clock is 90 ms behind (± 2 ms)"},
      {2.5, 0.003, CheckState::kAdvice, "10.0.0.1:7070 answers; its clock is 2.5 s ahead (± 3 ms)"},
      {-86400, 0.003, CheckState::kAdvice, "10.0.0.1:7070 answers; its clock is 24 h behind (± 3 ms)"},
      // A slow exchange is no reason to doubt a clock.
      {1.5, 1.6, CheckState::kGood, "10.0.0.1:7070 answers; its clock agrees within 3.1 s"},
      {1.65, 1.6, CheckState::kGood, "10.0.0.1:7070 answers; its clock is 1.65 s ahead (± 1.6 s)"},
  };
  FakeMachine machine;
  DoctorOptions options;
  options.controller.address = "10.0.0.1:7070";
  for (const Comparison& c : comparisons) {
    machine.controller = std::optional(service::ClockComparison{.offset_s = c.offset_s, .error_s = c.error_s});
    const CheckResult result = ResultOf(CheckMachine(machine, options), "controller");
    EXPECT_EQ(result.state, c.state) << c.found;
    EXPECT_EQ(result.found, c.found);
    EXPECT_EQ(result.to_do.empty(), c.state == CheckState::kGood) << c.found;
  }
  machine.controller = std::optional<service::ClockComparison>();
  EXPECT_EQ(ResultOf(CheckMachine(machine, options), "controller").found, "10.0.0.1:7070 answers");
}

TEST(DoctorChecksTest, TheClockMayFollowAServerWithoutChrony) {
  FakeMachine machine;
  machine.commands = {{"timedatectl", "yes\n"}};
  EXPECT_EQ(ResultOf(CheckMachine(machine, {}), "clock").state, CheckState::kGood);
}

}  // namespace
}  // namespace fairlead::cli
