#include "rank_processes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/check.h"

namespace fairlead::nccl_host {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kRankPatience{4};
constexpr std::chrono::milliseconds kRankPause{20};

// Of another build of NCCL, if that is set (all_versions.sh).
std::string ProgramFolder() {
  const char* const other = getenv("FAIRLEAD_NCCL_PROGRAMS");
  return other == nullptr ? FAIRLEAD_NCCL_PROGRAMS : other;
}

// What makes NCCL run between processes of one machine as between hosts: sockets on loopback, no shared memory, no
// network but NCCL's own, no service at a fixed port, no settings of this machine.
std::map<std::string, std::string> EnvironmentOf(const RankProcessesOptions& options, int rank,
                                                 const std::string& segments) {
  std::map<std::string, std::string> environment = {{"RANK", std::to_string(rank)},
                                                    {"WORLD_SIZE", std::to_string(options.num_ranks)},
                                                    {"NCCL_HOSTID", fmt::format("host{}", rank)},
                                                    {"NCCL_SOCKET_IFNAME", "lo"},
                                                    {"NCCL_NET", "Socket"},
                                                    {"NCCL_NET_PLUGIN", "none"},
                                                    {"NCCL_IB_DISABLE", "1"},
                                                    {"NCCL_RAS_ENABLE", "0"},
                                                    {"NCCL_CONF_FILE", "/dev/null"},
                                                    {"NCCL_DEBUG", "WARN"},
                                                    {"NCCL_ALGO", "Ring,Tree"},
                                                    {"NCCL_PROTO", "Simple,LL"},
                                                    {"NCCL_PROFILER_PLUGIN", "none"},
                                                    {"FAIRLEAD_JOB", "nccl"},
                                                    {"FAIRLEAD_SHM_FOLDER", segments}};
  if (options.is_profiled) environment["NCCL_PROFILER_PLUGIN"] = FAIRLEAD_PROFILER_LIBRARY;
  for (const auto& [name, value] : options.environment) environment[name] = value;
  if (options.can_send_slowly) {
    environment["LD_PRELOAD"] = FAIRLEAD_SLOW_SENDS_LIBRARY;
    environment["SLOW_SENDS_FILE"] = fmt::format("{}/../slow-sends-{}", segments, rank);
  }
  return environment;
}

}  // namespace

RankProcesses::RankProcesses(const RankProcessesOptions& options) {
  for (int rank = 0; rank < options.num_ranks; ++rank) {
    fs::create_directories(SegmentsOf(rank));
    ranks_.push_back(Start(options, rank));
  }
}

RankProcesses::~RankProcesses() {
  for (Rank& rank : ranks_) {
    if (!HasEnded(&rank)) {
      kill(rank.pid, SIGKILL);
      waitpid(rank.pid, nullptr, 0);
    }
    if (rank.input >= 0) close(rank.input);
  }
}

std::string RankProcesses::SegmentsOf(int rank) const { return File(fmt::format("segments-{}", rank)); }
std::string RankProcesses::SegmentPath(int rank) const {
  return fmt::format("{}/fairlead-{}", SegmentsOf(rank), pid(rank));
}

RankProcesses::Rank RankProcesses::Start(const RankProcessesOptions& options, int rank) {
  const std::string program = ProgramFolder() + "/" + options.program;
  const std::string folder = folder_.path().string();
  const std::string output = File(fmt::format("output-{}", rank));
  const auto environment = EnvironmentOf(options, rank, SegmentsOf(rank));
  int input[2];
  FL_CHECK(pipe2(input, O_CLOEXEC) == 0);
  const pid_t pid = fork();
  FL_CHECK(pid >= 0);
  if (pid > 0) {
    close(input[0]);
    return {.pid = pid, .input = input[1]};
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int written = open(output.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  FL_CHECK(dup2(input[0], STDIN_FILENO) >= 0 && dup2(written, STDOUT_FILENO) >= 0 && dup2(written, STDERR_FILENO) >= 0);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments = {const_cast<char*>(program.c_str()), const_cast<char*>(folder.c_str())};
  for (const std::string& argument : options.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  perror(program.c_str());
  _exit(127);
}

bool RankProcesses::HasEnded(Rank* rank) {
  if (rank->status < 0) {
    int status = 0;
    if (waitpid(rank->pid, &status, WNOHANG) == rank->pid) rank->status = status;
  }
  return rank->status >= 0;
}

void RankProcesses::Signal(int rank, int number) const { kill(pid(rank), number); }

bool RankProcesses::WaitForFiles(const std::string& name) {
  const auto deadline = std::chrono::steady_clock::now() + kRankPatience;
  for (int rank = 0; rank < num_ranks(); ++rank) {
    while (!fs::exists(File(fmt::format("{}-{}", name, rank)))) {
      for (Rank& other : ranks_) {
        if (HasEnded(&other)) return false;
      }
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(kRankPause);
    }
  }
  return true;
}

bool RankProcesses::LetEnd() {
  for (Rank& rank : ranks_) {
    if (rank.input >= 0) close(rank.input);
    rank.input = -1;
  }
  const auto deadline = std::chrono::steady_clock::now() + kRankPatience;
  bool have_ended_well = true;
  for (Rank& rank : ranks_) {
    while (!HasEnded(&rank) && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(kRankPause);
    have_ended_well &= rank.status == 0;
  }
  return have_ended_well;
}

std::string RankProcesses::Outputs() const {
  std::string all;
  for (int rank = 0; rank < num_ranks(); ++rank) {
    std::ifstream file(File(fmt::format("output-{}", rank)));
    const std::string output{std::istreambuf_iterator<char>(file), {}};
    if (!output.empty()) all += fmt::format("---- rank {}:\n{}", rank, output);
  }
  return all;
}

}  // namespace fairlead::nccl_host
