#include "lab/lab_slurm.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "base/file_reader.h"
#include "base/file_writer.h"
#include "lab/lab_programs.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

// A busy machine starts a daemon in seconds.
constexpr std::chrono::seconds kSlurmPatience{120};
constexpr std::chrono::milliseconds kSlurmPollPeriod{100};
constexpr size_t kSlurmLogTailBytes = 800;
constexpr size_t kMungeKeyBytes = 128;
constexpr std::array kPrograms = {"munged", "slurmctld", "slurmd", "slurmrestd",
                                  "sbatch", "scontrol",  "squeue", "nsenter"};

// Where `name` is, also where users without rights do not look; empty: nowhere.
std::string FindInPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(fmt::format("{}:/usr/sbin:/sbin:/usr/bin:/bin", path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::string SlurmLogTail(const std::string& path) {
  std::string tail = ReadFileIfThere(path);
  if (tail.size() > kSlurmLogTailBytes) tail.erase(0, tail.size() - kSlurmLogTailBytes);
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail.empty() ? "it printed nothing" : tail;
}

// Writes the key of munge, which all daemons of this Slurm share.
Status WriteMungeKey(const std::string& path) {
  std::random_device random;
  std::string key;
  while (key.size() < kMungeKeyBytes) key += static_cast<char>(random());
  FL_RETURN_IF_ERROR(WriteFileAtomically(path, key, Outlives::kProcess));
  if (chmod(path.c_str(), 0600) != 0) return Unavailable(path + ": its mode can't be set");
  return OkStatus();
}

Status WriteFiles(const std::string& folder, const std::vector<SlurmFile>& files) {
  std::error_code error;
  for (const char* name : {"etc", "bin", "hooks", "gpus", "log", "run", "spool", "state", "work"}) {
    fs::create_directories(fmt::format("{}/{}", folder, name), error);
  }
  for (const SlurmFile& file : files) {
    const std::string path = folder + "/" + file.path;
    FL_RETURN_IF_ERROR(WriteFileAtomically(path, file.text, Outlives::kProcess));
    if (chmod(path.c_str(), file.is_program ? 0755 : 0644) != 0) return Unavailable(path + ": its mode can't be set");
  }
  return WriteMungeKey(folder + "/etc/munge.key");
}

// Joins all hosts to the management network.
Status BuildNetwork(const LabState& state) {
  const LabNodeId management = ManagementNetwork(state.plan);
  const std::vector<std::string> batch = {"ip", "-batch", "-"};
  const auto check = [](const Result<std::vector<CommandOutcome>>& outcomes) {
    if (!outcomes.ok()) return outcomes.status();
    for (const CommandOutcome& outcome : *outcomes) {
      if (outcome.exit_code != 0) return Unavailable("the lab's management network failed: " + outcome.errors);
    }
    return OkStatus();
  };
  FL_RETURN_IF_ERROR(
      check(RunCommands(state.keeper, {{management, {"sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward"}, ""},
                                       {management, batch, ManagementCommands(state.plan, state.keeper)}})));
  std::vector<NamespaceCommand> commands;
  for (LabNodeId node(0u); node.index() < state.plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
    const LabNode& host = state.plan.nodes[node];
    if (host.role == NodeRole::kHost && !host.nics.empty()) {
      commands.push_back({node, batch, ManagementHostCommands(node)});
    }
  }
  return check(RunCommands(state.keeper, commands));
}

// Its daemons, one after the other.
class SlurmStart {
 public:
  SlurmStart(const LabState& state, std::string lab_folder, const std::atomic<bool>& stop)
      : state_(state), lab_folder_(std::move(lab_folder)), folder_(SlurmFolder(lab_folder_)), stop_(stop) {}

  Status Run(const std::vector<std::string>& spares) {
    const LabNodeId management = ManagementNetwork(state_.plan);
    const std::string conf = folder_ + "/etc/slurm.conf";
    FL_RETURN_IF_ERROR(
        Start(management, "munged",
              {"--foreground", "--force", "--key-file=" + folder_ + "/etc/munge.key",
               "--socket=" + folder_ + "/run/munge.socket", "--pid-file=" + folder_ + "/run/munged.pid",
               "--seed-file=" + folder_ + "/run/munge.seed", "--log-file=" + folder_ + "/log/munged.log"}));
    FL_RETURN_IF_ERROR(WaitUntil("munged", [&] { return access((folder_ + "/run/munge.socket").c_str(), F_OK) == 0; }));
    FL_RETURN_IF_ERROR(Start(management, "slurmctld", {"-D", "-c", "-f", conf}));
    size_t num_hosts = 0;
    for (LabNodeId node(0u); node.index() < state_.plan.nodes.size(); node = LabNodeId(node.index() + 1)) {
      const LabNode& host = state_.plan.nodes[node];
      if (host.role != NodeRole::kHost || host.nics.empty()) continue;
      ++num_hosts;
      FL_RETURN_IF_ERROR(Start(node, "slurmd", {"-D", "-f", conf, "-N", host.name}));
    }
    // Debian's build has no tokens: whoever may open the socket may ask, and only root may come so far.
    FL_RETURN_IF_ERROR(
        Start(management, "slurmrestd",
              {"-f", conf, "-a", "rest_auth/local", "-s", "openapi/v0.0.38", "unix:" + folder_ + "/run/rest.sock"}));
    FL_RETURN_IF_ERROR(WaitUntil("slurmctld", [&] {
      const auto idle = RunSlurmProgram(state_, lab_folder_, {"sinfo", "-h", "-N", "-t", "idle", "-o", "%N"});
      return idle.ok() && static_cast<size_t>(std::count(idle->begin(), idle->end(), '\n')) == num_hosts;
    }));
    if (spares.empty()) return OkStatus();
    return RunSlurmProgram(state_, lab_folder_,
                           {"scontrol", "create", "reservation", fmt::format("ReservationName={}", kSlurmSpares),
                            "StartTime=now", "Duration=UNLIMITED", fmt::format("Nodes={}", fmt::join(spares, ",")),
                            "Users=root", "Flags=IGNORE_JOBS"})
        .status();
  }

 private:
  Status Start(LabNodeId node, const std::string& name, std::vector<std::string> args) {
    args.insert(args.begin(), {"/usr/bin/env", "LC_ALL=C", "SLURM_CONF=" + folder_ + "/etc/slurm.conf",
                               "SLURMRESTD_SECURITY=disable_user_check", FindInPath(name)});
    return StartDaemon(state_.keeper, node, args, folder_ + "/log/" + name);
  }

  Status WaitUntil(const std::string& daemon, const std::function<bool()>& is_so) const {
    const auto end = steady_clock::now() + kSlurmPatience;
    while (!is_so()) {
      if (stop_) return Status(StatusCode::kCancelled, "stopped while the lab's Slurm was starting");
      if (steady_clock::now() > end) {
        return Unavailable(fmt::format("the lab's Slurm does not start: not all hosts are idle after {} s; {}: {}",
                                       kSlurmPatience.count(), daemon,
                                       SlurmLogTail(fmt::format("{}/log/{}.log", folder_, daemon))));
      }
      std::this_thread::sleep_for(kSlurmPollPeriod);
    }
    return OkStatus();
  }

  const LabState& state_;
  const std::string lab_folder_;
  const std::string folder_;
  const std::atomic<bool>& stop_;
};

std::string MachineName() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string text = name.data();
  return text.substr(0, text.find('.'));
}

}  // namespace

Status CheckSlurm() {
  if (geteuid() != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  "a Slurm in a lab needs root: its daemons start the processes of users. Run it as root, or try "
                  "`fairlead lab demo`, which needs none");
  }
  std::vector<std::string> missing;
  for (const char* name : kPrograms) {
    if (FindInPath(name).empty()) missing.emplace_back(name);
  }
  if (missing.empty()) return OkStatus();
  return Status(
      StatusCode::kFailedPrecondition,
      fmt::format("a Slurm in a lab needs {}, not found here. Install: apt-get install munge slurmctld slurmd "
                  "slurm-client slurmrestd slurm-wlm-basic-plugins util-linux",
                  fmt::join(missing, ", ")));
}

Result<SlurmPieces> FindSlurmPieces(const std::string& integration) {
  SlurmPieces pieces{.integration = fs::absolute(integration).string(),
                     .spank_plugin = "",
                     .steering_library = "",
                     .profiler_plugin = "",
                     .lab_program = "",
                     .trainer = ""};
  if (access((pieces.integration + "/fairlead_jobs.lua").c_str(), R_OK) != 0) {
    return NotFound(
        fmt::format("{}/fairlead_jobs.lua is missing. Install the package fairlead-slurm", pieces.integration));
  }
  FL_ASSIGN_OR_RETURN(pieces.spank_plugin, FindSpankPlugin());
  FL_ASSIGN_OR_RETURN(pieces.steering_library, FindSteeringLibrary());
  FL_ASSIGN_OR_RETURN(pieces.profiler_plugin, FindProfilerPlugin());
  FL_ASSIGN_OR_RETURN(pieces.lab_program, FindProgram("fairlead-lab"));
  FL_ASSIGN_OR_RETURN(pieces.trainer, FindProgram("fairlead-trainer"));
  return pieces;
}

Status StartSlurm(const LabState& state, const topology::Fabric& fabric, const std::string& lab_folder,
                  const SlurmStartOptions& options, const std::atomic<bool>& stop) {
  FL_RETURN_IF_ERROR(CheckSlurm());
  const SlurmSite site{.lab_name = state.name,
                       .lab_folder = lab_folder,
                       .scenario = state.source,
                       .machine_name = MachineName(),
                       .keeper = state.keeper,
                       .pieces = options.pieces};
  FL_RETURN_IF_ERROR(WriteFiles(SlurmFolder(lab_folder), SlurmFilesOf(site, state.plan, fabric)));
  // Processes make their segments and counters there, also before there are agents.
  std::error_code error;
  for (const LabNode& node : state.plan.nodes) {
    if (node.role != NodeRole::kHost) continue;
    fs::create_directories(SegmentFolder(lab_folder, node.name), error);
    fs::create_directories(GpuFolder(lab_folder, node.name), error);
  }
  FL_RETURN_IF_ERROR(BuildNetwork(state));
  return SlurmStart(state, lab_folder, stop).Run(options.spares);
}

bool HasSlurm(const std::string& lab_folder) {
  return access((SlurmFolder(lab_folder) + "/etc/slurm.conf").c_str(), F_OK) == 0;
}

void AddSlurmToServices(const std::string& lab_folder, const std::vector<std::string>& spares,
                        LabServicesOptions* options) {
  const std::string folder = SlurmFolder(lab_folder);
  options->path = folder + "/bin";
  auto& words = options->controller_arguments;
  words.insert(words.end(),
               {"--engine", "slurm", "--slurm-period", "0.5", "--steer", "act", "--alive-file", folder + "/alive",
                "--slurm-elastic", std::string(kSlurmPartition), "--slurm-log", folder + "/log/slurmctld.log"});
  if (!spares.empty()) words.insert(words.end(), {"--slurm-spares", std::string(kSlurmSpares)});
  // A lab is broken more often in ten minutes than a cluster in weeks.
  words.insert(words.end(),
               {"--max-hosts-per-hour", "1000", "--max-job-share", "1", "--max-cluster-share", "1", "--hold-off", "0"});
  // The hook at the end of a job reads it (slurm_files.cc).
  static_cast<void>(WriteFileAtomically(folder + "/page", "http://" + options->http + "\n", Outlives::kProcess).ok());
}

Status WaitForSlurmEngine(const std::string& lab_folder, const std::atomic<bool>& stop) {
  const auto end = steady_clock::now() + kSlurmPatience;
  while (access((SlurmFolder(lab_folder) + "/alive").c_str(), F_OK) != 0) {
    if (stop) return Status(StatusCode::kCancelled, "stopped while the lab's controller was looking for Slurm");
    if (steady_clock::now() > end) {
      return Unavailable("the lab's controller does not find its Slurm: " +
                         SlurmLogTail(lab_folder + "/controller.log"));
    }
    std::this_thread::sleep_for(kSlurmPollPeriod);
  }
  return OkStatus();
}

Result<std::string> RunSlurmProgram(const LabState& state, const std::string& lab_folder,
                                    std::vector<std::string> command) {
  const auto name = std::find_if(command.begin(), command.end(),
                                 [](const std::string& word) { return word.find('=') == std::string::npos; });
  const std::string shown = name == command.end() ? "a program" : *name;
  command.insert(command.begin(),
                 {"env", fmt::format("SLURM_CONF={}/etc/slurm.conf", SlurmFolder(lab_folder)), "LC_ALL=C"});
  FL_ASSIGN_OR_RETURN(const auto outcomes,
                      RunCommands(state.keeper, {{ManagementNetwork(state.plan), std::move(command), ""}}));
  if (outcomes.front().exit_code == 0) return outcomes.front().output;
  return Unavailable(fmt::format("{} of the lab's Slurm failed: {}", shown, outcomes.front().errors));
}

}  // namespace fairlead::lab
