#include "cli/doctor/doctor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <sstream>
#include <tuple>
#include <utility>

#include "report/number_format.h"
#include "traffic/source_ports.h"

namespace fairlead::cli {
namespace {

using Results = std::vector<CheckResult>;

constexpr uint64_t kDescriptorsWanted = 65'536;  // a stream for each of 10,000 hosts, and its files
constexpr uint64_t kSegmentBytesMax = 4 << 20;   // of one process (shm/profiler_segment.h)
constexpr uint64_t kProcessesOfHost = 16;
constexpr int64_t kDay = 86'400;
constexpr int64_t kExpiryWarning = 30 * kDay;
constexpr double kClockOffsetMaxS = 0.1;  // chrony keeps hosts of one network within a hundredth of that
constexpr const char* kSetClocks =
    "apt-get install chrony && chronyc tracking\nOn all hosts: certificates have dates, and findings are compared by "
    "the times of hosts.";
constexpr int kOldestNccl = 22'300;

CheckResult Good(std::string check, std::vector<Role> roles, std::string found) {
  return {std::move(check), std::move(roles), CheckState::kGood, std::move(found), ""};
}

std::string Trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// "6.1.0-18-amd64" -> 6, 1
std::optional<std::pair<int, int>> ParseKernel(std::string_view text) {
  std::pair<int, int> version;
  const char* const end = text.data() + text.size();
  const auto [dot, no_major] = std::from_chars(text.data(), end, version.first);
  if (no_major != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [rest, no_minor] = std::from_chars(dot + 1, end, version.second);
  if (no_minor != std::errc()) return std::nullopt;
  return version;
}

void CheckKernel(const Machine& machine, Results* results) {
  const auto text = machine.Read("/proc/sys/kernel/osrelease");
  const auto version = text.ok() ? ParseKernel(*text) : std::nullopt;
  const std::string found =
      version.has_value() ? "Linux " + Trimmed(*text) : "no version in /proc/sys/kernel/osrelease";
  for (const auto& [role, major, minor] : {std::tuple(Role::kLab, 5, 12), std::tuple(Role::kAgent, 5, 6)}) {
    CheckResult result = Good(fmt::format("kernel {}.{} or later", major, minor), {role}, found);
    if (!version.has_value() || *version < std::pair(major, minor)) {
      result.state = CheckState::kMissing;
      result.to_do =
          fmt::format("Boot Linux {}.{} or later; Debian 12 has 6.1: apt-get install linux-image-amd64", major, minor);
    }
    results->push_back(std::move(result));
  }
}

void CheckNamespaces(const Machine& machine, Results* results) {
  const auto trial = machine.TryNamespaces();
  CheckResult result = Good("network namespaces", {Role::kLab}, "");
  if (!trial.ok()) {
    result.state = CheckState::kMissing;
    result.found = "refused";
    result.to_do = trial.status().message();
  } else {
    result.found = trial->has_user_namespace ? "made, in a user namespace" : "made, without a user namespace";
    if (!trial->missing_settings.empty()) {
      result.found += fmt::format("; {} settings missing", trial->missing_settings.size());
    }
  }
  results->push_back(std::move(result));
}

struct Tool {
  const char* name;
  const char* package;
  CheckState without;
  std::vector<Role> needed_for;
  const char* purpose;
};

void CheckTools(const Machine& machine, Results* results) {
  const Tool tools[] = {
      {"ip", "iproute2", CheckState::kMissing, {Role::kLab, Role::kAgent}, "It sets up interfaces and routes."},
      {"tc", "iproute2", CheckState::kMissing, {Role::kLab}, "It gives links their speed and their priorities."},
      {"nft",
       "nftables",
       CheckState::kAdvice,
       {Role::kLab, Role::kAgent},
       "Without it open connections are not moved, and labs have no bonded NICs."},
  };
  for (const Tool& tool : tools) {
    CheckResult result = Good(tool.name, tool.needed_for, machine.FindTool(tool.name));
    if (result.found.empty()) {
      result.state = tool.without;
      result.found = "not in PATH, /usr/sbin or /sbin";
      result.to_do = fmt::format("apt-get install {}\n{}", tool.package, tool.purpose);
    }
    results->push_back(std::move(result));
  }
}

// "Name:\tvalue" of /proc/self/status.
std::string StatusField(const std::string& status, std::string_view name) {
  std::istringstream lines(status);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    const size_t begin = line.find_first_not_of(" \t", name.size() + 1);
    return begin == line.npos ? "" : line.substr(begin);
  }
  return "";
}

void CheckRights(const Machine& machine, Results* results) {
  const std::pair<const char*, int> rights[] = {{"CAP_NET_ADMIN", 12}, {"CAP_NET_RAW", 13}, {"CAP_SYS_PTRACE", 19}};
  CheckResult result = Good("rights of this user", {Role::kAgent}, "NET_ADMIN, NET_RAW, SYS_PTRACE");
  const auto status = machine.Read("/proc/self/status");
  const std::string mask_text = status.ok() ? StatusField(*status, "CapEff") : "";
  uint64_t mask = 0;
  const auto [end, error] = std::from_chars(mask_text.data(), mask_text.data() + mask_text.size(), mask, 16);
  std::string lacking;
  for (const auto& [name, bit] : rights) {
    if (error == std::errc() && (mask >> bit & 1) != 0) continue;
    lacking += (lacking.empty() ? "" : " ") + std::string(name);
  }
  if (!lacking.empty()) {
    result.state = CheckState::kAdvice;
    result.found = "lacks " + lacking;
    result.to_do = fmt::format(
        "Run the agent as root, or give its unit the rights: AmbientCapabilities={}\nWithout CAP_NET_ADMIN it moves no "
        "connection, without CAP_NET_RAW it does not trace ports in use, without CAP_SYS_PTRACE it does not change the "
        "class of open sockets of other users.",
        lacking);
  }
  results->push_back(std::move(result));
}

void CheckHashPolicy(const Machine& machine, Results* results) {
  CheckResult result = Good("fib_multipath_hash_policy", {Role::kAgent}, "");
  const auto text = machine.Read("/proc/sys/net/ipv4/fib_multipath_hash_policy");
  result.found = text.ok() ? Trimmed(*text) : "the kernel has no such setting";
  if (result.found != "1" && result.found != "3") {
    result.state = CheckState::kAdvice;
    result.to_do =
        "sysctl -w net.ipv4.fib_multipath_hash_policy=1\nOnly for a host that routes one NIC over several uplinks: "
        "otherwise its kernel ignores source ports when it picks the uplink.";
  }
  results->push_back(std::move(result));
}

// Ports above are those that agents rewrite packets to (traffic/source_ports.h).
void CheckPortRange(const Machine& machine, Results* results) {
  CheckResult result = Good("ip_local_port_range", {Role::kAgent}, "");
  const auto text = machine.Read("/proc/sys/net/ipv4/ip_local_port_range");
  uint32_t first = 0;
  uint32_t last = 0;
  std::istringstream fields(text.ok() ? *text : "");
  const bool is_known = static_cast<bool>(fields >> first >> last);
  result.found = is_known ? fmt::format("{} to {}", first, last) : "the kernel has no such setting";
  if (!is_known || first > 49152 || last > traffic::kLastEphemeralPort) {
    result.state = CheckState::kAdvice;
    result.to_do = fmt::format(
        "sysctl -w net.ipv4.ip_local_port_range=\"32768 {}\"\nAgents give sockets ports from 49152 to {}, and rewrite "
        "packets to ports above: a connection that the kernel gives one of these on its own may break.",
        traffic::kLastEphemeralPort, traffic::kLastEphemeralPort);
  }
  results->push_back(std::move(result));
}

// The hard limit, which the programs raise theirs to.
std::optional<uint64_t> DescriptorLimit(const std::string& limits) {
  constexpr std::string_view kName = "Max open files";
  std::istringstream lines(limits);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kName)) continue;
    std::istringstream fields(line.substr(kName.size()));
    std::string soft, hard;
    fields >> soft >> hard;
    if (hard == "unlimited") return UINT64_MAX;
    uint64_t limit = 0;
    const auto [end, error] = std::from_chars(hard.data(), hard.data() + hard.size(), limit);
    if (error == std::errc() && !hard.empty()) return limit;
  }
  return std::nullopt;
}

void CheckOpenFiles(const Machine& machine, Results* results) {
  CheckResult result = Good("limit of open files", {Role::kLab, Role::kAgent, Role::kController}, "");
  const auto text = machine.Read("/proc/self/limits");
  const auto limit = text.ok() ? DescriptorLimit(*text) : std::nullopt;
  result.found = !limit.has_value() ? "unknown" : *limit == UINT64_MAX ? "none" : fmt::format("{}", *limit);
  if (limit.value_or(0) < kDescriptorsWanted) {
    result.state = CheckState::kAdvice;
    result.to_do = fmt::format(
        "ulimit -Hn {0}\nas root before the start, or LimitNOFILE={0} in the unit. Each host takes a connection of the "
        "controller, each training process one of its agent.",
        kDescriptorsWanted);
  }
  results->push_back(std::move(result));
}

void CheckSharedMemory(const Machine& machine, Results* results) {
  CheckResult result = Good("/dev/shm", {Role::kAgent}, "");
  const auto room = machine.RoomIn("/dev/shm");
  if (!room.ok()) {
    result.state = CheckState::kMissing;
    result.found = room.status().message();
    result.to_do =
        "mount -t tmpfs -o mode=1777 tmpfs /dev/shm\nTraining processes tell the agent there what they do. In a "
        "container, mount the host's: --volume /dev/shm:/dev/shm";
  } else {
    result.found = fmt::format("{} MiB free", *room >> 20);
    if (*room < kProcessesOfHost * kSegmentBytesMax) {
      result.state = CheckState::kAdvice;
      result.to_do = fmt::format("mount -o remount,size=1G /dev/shm\nEach training process needs up to {} MiB.",
                                 kSegmentBytesMax >> 20);
    }
  }
  results->push_back(std::move(result));
}

void CheckPrograms(const Machine& machine, Results* results) {
  const std::pair<const char*, std::vector<Role>> programs[] = {
      {"fairlead", {Role::kSim}},
      {"fairlead-lab", {Role::kLab}},
      {"fairlead-agent", {Role::kLab, Role::kAgent}},
      {"fairlead-controller", {Role::kLab, Role::kController}},
      {"fairlead-trainer", {Role::kLab}},
  };
  for (const auto& [name, roles] : programs) {
    const auto path = machine.FindProgram(name);
    CheckResult result = Good(name, roles, path.ok() ? *path : "not beside this program");
    if (!path.ok()) {
      result.state = CheckState::kMissing;
      result.to_do = fmt::format("cmake --build build/release --target {}\nor install Fairlead again, whole.", name);
    }
    results->push_back(std::move(result));
  }
  const auto data = machine.FindData("profiles");
  CheckResult result = Good("model profiles", {Role::kSim, Role::kLab}, data.ok() ? *data : data.status().message());
  if (!data.ok()) {
    result.state = CheckState::kMissing;
    result.to_do = "cmake --install build/release --prefix DIR\nputs them beside the programs.";
  }
  results->push_back(std::move(result));
}

// Args: target: that builds it.
CheckResult CheckLibrary(const char* check, const Result<std::string>& path, const char* target,
                         const std::function<Result<LoadedLibrary>(const std::string&)>& load) {
  CheckResult result = Good(check, {Role::kLab, Role::kAgent}, path.ok() ? *path : "not where programs look for it");
  if (!path.ok()) {
    result.state = CheckState::kMissing;
    result.to_do = fmt::format("cmake --build build/release --target {}\n{}", target, path.status().message());
    return result;
  }
  const auto loaded = load(*path);
  if (loaded.ok()) return result;
  result.state = CheckState::kMissing;
  result.found = "can't be loaded";
  result.to_do = fmt::format("cmake --build build/release --target {}\nThe loader's message: {}", target,
                             loaded.status().message());
  return result;
}

void CheckLibraries(const Machine& machine, Results* results) {
  results->push_back(CheckLibrary("steering library", machine.FindSteeringLibrary(), "fairlead_steer",
                                  [&](const std::string& path) { return machine.Load(path); }));
  results->push_back(CheckLibrary("profiler plugin", machine.FindProfilerPlugin(), "fairlead_nccl_profiler",
                                  [&](const std::string& path) { return machine.LoadProfiler(path); }));
}

// 22703 -> "2.27.3"
std::string NcclVersionText(int version) {
  return fmt::format("{}.{}.{}", version / 10'000, version / 100 % 100, version % 100);
}

void CheckNccl(const Machine& machine, Results* results) {
  CheckResult result = Good("NCCL", {Role::kAgent}, "");
  std::vector<std::string> candidates = machine.PackagedNccl();
  candidates.insert(candidates.begin(), "libnccl.so.2");
  std::optional<LoadedLibrary> found;
  for (const std::string& candidate : candidates) {
    const auto loaded = machine.Load(candidate);
    if (!loaded.ok() || loaded->nccl_version == 0) continue;
    found = *loaded;
    break;
  }
  if (!found.has_value()) {
    result.state = CheckState::kAdvice;
    result.found = "no libnccl.so.2";
    result.to_do =
        "Nothing, if jobs bring their own NCCL in a container or a virtual environment. Run doctor in there to see its "
        "version.";
  } else {
    result.found = fmt::format("{}, {}", NcclVersionText(found->nccl_version), found->path);
    if (found->nccl_version < kOldestNccl) {
      result.state = CheckState::kAdvice;
      result.to_do = "Use NCCL 2.23 or later; older ones load no profiler plugin, so their jobs are not diagnosed.";
    }
  }
  results->push_back(std::move(result));
}

// Of each line of nvidia-smi, "NVIDIA H100 80GB HBM3, 9.0": those whose work NVML counts are of generation 9 and later.
void CheckGpus(const Machine& machine, Results* results) {
  CheckResult result = Good("GPUs", {Role::kAgent}, "none");
  const std::string tool = machine.FindTool("nvidia-smi");
  if (!tool.empty()) {
    const auto text = machine.Run({tool, "--query-gpu=name,compute_cap", "--format=csv,noheader"});
    size_t num_gpus = 0;
    std::string uncounted;  // the first one
    std::istringstream lines(text.ok() ? *text : "");
    for (std::string line; std::getline(lines, line);) {
      const size_t comma = line.rfind(", ");
      if (comma == std::string::npos) continue;
      ++num_gpus;
      if (uncounted.empty() && std::atoi(line.c_str() + comma + 2) < 9) uncounted = line.substr(0, comma);
    }
    if (num_gpus == 0) {
      result.state = CheckState::kAdvice;
      result.found = text.ok() ? "nvidia-smi names none" : text.status().message();
      result.to_do = "nvidia-smi\nThe driver does not answer: jobs on GPUs of this host cannot run.";
    } else {
      result.found = fmt::format("{}, the first: {}", num_gpus, text->substr(0, text->find(", ")));
    }
    if (!uncounted.empty()) {
      result.state = CheckState::kAdvice;
      result.to_do = fmt::format(
          "Nothing, if jobs need no priorities. {} does not count its work (NVIDIA's Hopper and later do), so Crux "
          "does "
          "not rank the jobs on it: they keep the last level.",
          uncounted);
    }
  }
  results->push_back(std::move(result));
}

void CheckProfilerVariable(const Machine& machine, Results* results) {
  CheckResult result = Good("NCCL_PROFILER_PLUGIN", {Role::kAgent}, machine.Variable("NCCL_PROFILER_PLUGIN"));
  const auto ours = machine.FindProfilerPlugin();
  const std::string command = fmt::format("export NCCL_PROFILER_PLUGIN={}",
                                          ours.ok() ? *ours : "/usr/lib/fairlead/libnccl-profiler-fairlead.so");
  if (result.found.empty()) {
    result.state = CheckState::kAdvice;
    result.found = "not set";
    result.to_do = command + "\nin the environment of training jobs, with FAIRLEAD_JOB=NAME.";
  } else if (const auto loaded = machine.LoadProfiler(result.found); !loaded.ok()) {
    result.state = CheckState::kMissing;
    result.to_do = fmt::format("{}\n{}", command, loaded.status().message());
  }
  results->push_back(std::move(result));
}

void CheckPorts(const Machine& machine, const DoctorOptions& options, Results* results) {
  const bool is_asked = !options.listen.empty();
  const std::vector<std::string> usual = {"0.0.0.0:7070", "127.0.0.1:8080"};
  for (const std::string& address : is_asked ? options.listen : usual) {
    CheckResult result = Good("address " + address, {Role::kController}, "free");
    const Status status = machine.TryListening(address);
    if (!status.ok()) {
      result.state = is_asked ? CheckState::kMissing : CheckState::kAdvice;
      result.found = "not free";
      const size_t colon = address.rfind(':');
      result.to_do = address.starts_with("unix:")
                         ? fmt::format("ss -lxp | grep {}\n{}", address.substr(5), status.message())
                         : fmt::format(
                               "ss -ltnp sport = :{}\n{}. That command names the program; a controller that "
                               "runs here already is fine.",
                               address.substr(colon + 1), status.message());
    }
    results->push_back(std::move(result));
  }
}

std::string DateOf(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

void CheckTls(const Machine& machine, const DoctorOptions& options, Results* results) {
  const service::TlsFiles& files = options.controller.tls;
  if (!files.is_set()) return;
  CheckResult result = Good("TLS files", {Role::kAgent, Role::kController}, "");
  const auto facts = machine.ReadTls(files);
  const std::string renew = "fairlead cert host FOLDER NAME\nmakes new ones with the cluster's authority in FOLDER.";
  const int64_t now = machine.Now();
  if (!facts.ok()) {
    result.found = "can't be used";
    result.to_do = facts.status().message();
  } else if (!facts->is_of_key) {
    result.found = fmt::format("the key is not that of the certificate of {}", facts->name);
    result.to_do = "Name the two files that fairlead cert host has made together: NAME.pem and NAME-key.pem.";
  } else if (!facts->is_of_authority) {
    result.found = fmt::format("the authority did not sign the certificate of {}", facts->name);
    result.to_do = "Name the ca.pem of the cluster that has made the certificate.";
  } else if (now < facts->not_before_s) {
    result.found = fmt::format("valid only from {}", DateOf(facts->not_before_s));
    result.to_do = "date\nIs the clock of this machine right?";
  } else if (now >= facts->not_after_s) {
    result.found = fmt::format("expired on {}", DateOf(facts->not_after_s));
    result.to_do = renew;
  } else {
    result.found = fmt::format("{}, valid until {}", facts->name, DateOf(facts->not_after_s));
    if (facts->not_after_s - now < kExpiryWarning) {
      result.state = CheckState::kAdvice;
      result.to_do = renew;
    }
    results->push_back(std::move(result));
    return;
  }
  result.state = CheckState::kMissing;
  results->push_back(std::move(result));
}

void CheckAgent(const Machine& machine, const DoctorOptions& options, Results* results) {
  CheckResult result = Good("agent of this host", {Role::kAgent}, options.agent_socket);
  if (const Status status = machine.ReachAgent(options.agent_socket); !status.ok()) {
    result.state = CheckState::kAdvice;
    result.found = "none";
    result.to_do = fmt::format("fairlead agent run --controller ADDRESS --host NAME --socket {}\n{}",
                               options.agent_socket, status.message());
  }
  results->push_back(std::move(result));
}

// "its clock agrees within 3 ms", "its clock is 2.5 s ahead (± 3 ms)"
std::string DescribeOffset(const service::ClockComparison& clocks) {
  const double size_s = std::abs(clocks.offset_s);
  if (size_s <= clocks.error_s) {
    return fmt::format("its clock agrees within {}", report::FormatDuration(size_s + clocks.error_s));
  }
  return fmt::format("its clock is {} {} (± {})", report::FormatDuration(size_s),
                     clocks.offset_s > 0 ? "ahead" : "behind", report::FormatDuration(clocks.error_s));
}

void CheckController(const Machine& machine, const DoctorOptions& options, Results* results) {
  if (options.controller.address.empty()) return;
  CheckResult result = Good("controller", {Role::kAgent}, options.controller.address + " answers");
  const auto clocks = machine.ReachController(options.controller);
  if (!clocks.ok()) {
    result.state = CheckState::kMissing;
    result.found = options.controller.address + " does not answer";
    result.to_do = fmt::format("Is it running, is the port open, and do both sides use TLS files of one authority? {}",
                               clocks.status().message());
  } else if (clocks->has_value()) {
    result.found += "; " + DescribeOffset(**clocks);
    if (std::abs((*clocks)->offset_s) - (*clocks)->error_s > kClockOffsetMaxS) {
      result.state = CheckState::kAdvice;
      result.to_do = kSetClocks;
    }
  }
  results->push_back(std::move(result));
}

// Whether it follows a time server; CheckController() compares it with the controller's.
void CheckClock(const Machine& machine, Results* results) {
  CheckResult result = Good("clock", {Role::kAgent, Role::kController}, "");
  if (const auto tracking = machine.Run({"chronyc", "-c", "tracking"}); tracking.ok()) {
    // Fields: 0 the server's id, 1 its name, 2 stratum, 3 reference time, 4 offset in seconds, …, 13 leap status
    std::vector<std::string> fields;
    std::istringstream line(Trimmed(*tracking));
    for (std::string field; std::getline(line, field, ',');) fields.push_back(field);
    if (fields.size() >= 14 && fields[13] != "Not synchronised") {
      result.found = fmt::format("in step with {} by chrony, off by {} s", fields[1], fields[4]);
      return results->push_back(std::move(result));
    }
    result.found = "chrony is not in step with a server";
  } else if (const auto answer = machine.Run({"timedatectl", "show", "--property=NTPSynchronized", "--value"});
             answer.ok()) {
    if (Trimmed(*answer) == "yes") {
      result.found = "in step with a time server";
      return results->push_back(std::move(result));
    }
    result.found = "not in step with a time server";
  } else {
    result.found = "neither chronyc nor timedatectl answers";
  }
  result.state = CheckState::kAdvice;
  result.to_do = kSetClocks;
  results->push_back(std::move(result));
}

bool IsWanted(const CheckResult& result, const std::vector<Role>& roles) {
  return std::any_of(roles.begin(), roles.end(), [&](Role role) {
    return std::find(result.needed_for.begin(), result.needed_for.end(), role) != result.needed_for.end();
  });
}

}  // namespace

std::string_view NameOf(Role role) {
  switch (role) {
    case Role::kSim:
      return "sim";
    case Role::kLab:
      return "lab";
    case Role::kAgent:
      return "agent";
    case Role::kController:
      return "controller";
  }
  return "";
}

std::string_view NameOf(CheckState state) {
  switch (state) {
    case CheckState::kGood:
      return "ok";
    case CheckState::kAdvice:
      return "advice";
    case CheckState::kMissing:
      return "missing";
  }
  return "";
}

std::vector<CheckResult> CheckMachine(const Machine& machine, const DoctorOptions& options) {
  const auto is_for = [&](std::initializer_list<Role> roles) {
    return std::any_of(roles.begin(), roles.end(), [&](Role role) {
      return std::find(options.roles.begin(), options.roles.end(), role) != options.roles.end();
    });
  };
  Results results;
  CheckPrograms(machine, &results);
  CheckKernel(machine, &results);
  // What takes long or leaves traces is done only where it is asked for.
  if (is_for({Role::kLab})) CheckNamespaces(machine, &results);
  CheckTools(machine, &results);
  CheckRights(machine, &results);
  CheckHashPolicy(machine, &results);
  CheckPortRange(machine, &results);
  CheckOpenFiles(machine, &results);
  CheckSharedMemory(machine, &results);
  if (is_for({Role::kLab, Role::kAgent})) CheckLibraries(machine, &results);
  if (is_for({Role::kAgent})) {
    CheckNccl(machine, &results);
    CheckGpus(machine, &results);
    CheckProfilerVariable(machine, &results);
  }
  if (is_for({Role::kAgent, Role::kController})) {
    CheckClock(machine, &results);
    CheckTls(machine, options, &results);
  }
  if (is_for({Role::kController})) CheckPorts(machine, options, &results);
  if (is_for({Role::kAgent})) {
    CheckAgent(machine, options, &results);
    CheckController(machine, options, &results);
  }
  std::erase_if(results, [&](const CheckResult& result) { return !IsWanted(result, options.roles); });
  return results;
}

bool IsReady(const std::vector<CheckResult>& results) {
  return std::none_of(results.begin(), results.end(),
                      [](const CheckResult& result) { return result.state == CheckState::kMissing; });
}

}  // namespace fairlead::cli
