#include "lab/trainer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/file_reader.h"
#include "base/file_writer.h"
#include "lab/lab_services.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

// Milliseconds for which a connection waits for its agent: all processes of a lab share this machine, and a connection
// that did not wait stays unassigned.
constexpr std::string_view kAgentPatience = "500";

Environment EnvironmentOf(const LabState& state, const LabWorker& worker, const TrainerPrograms& programs,
                          const std::string& path) {
  const std::string& host = state.plan.nodes[worker.host].name;
  Environment environment = {{"FAIRLEAD_TRAINER_CONTROL", ControlFileOf(path)}};
  if (programs.records_phases) environment.emplace_back("FAIRLEAD_TRAINER_PHASES", "1");
  if (!programs.steering_library.empty()) {
    environment.insert(environment.end(), {{"LD_PRELOAD", programs.steering_library},
                                           {"FAIRLEAD_AGENT_SOCKET", AgentSocket(programs.lab_folder, host)},
                                           {"FAIRLEAD_STEER_DEADLINE_MS", std::string(kAgentPatience)},
                                           {"FAIRLEAD_GPU_COUNTERS", GpuFolder(programs.lab_folder, host)}});
  }
  if (!programs.profiler_plugin.empty()) {
    environment.insert(environment.end(), {{"NCCL_PROFILER_PLUGIN", programs.profiler_plugin},
                                           {"FAIRLEAD_SHM_FOLDER", SegmentFolder(programs.lab_folder, host)}});
  }
  if (!programs.steering_library.empty() || !programs.profiler_plugin.empty()) {
    environment.emplace_back("FAIRLEAD_JOB", worker.plan.job);
  }
  return environment;
}

pid_t child_of_guard = 0;
extern "C" void ForwardSignal(int number) { kill(child_of_guard, number); }

// What the guard needs; all of it made before the fork.
struct GuardStart {
  const KeeperId& keeper;
  LabNodeId node;
  std::vector<std::string> args;
  Environment environment;
  int output = -1;
  int errors = -1;
  int birth = -1;  // where the number of the trainer is reported
};

[[noreturn]] void RunProgram(const GuardStart& start) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  signal(SIGTERM, SIG_DFL);
  for (const auto& [name, value] : start.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  for (const std::string& word : start.args) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments.front(), arguments.data());
  fmt::print(stderr, "{}: {}\n", start.args.front(), std::strerror(errno));
  std::fflush(stderr);
  _exit(127);
}

// In a new process: enters the lab and becomes the parent of the program there, because only children are born into
// another process namespace. Ends with this process, and the program with it.
[[noreturn]] void RunGuard(const GuardStart& start) {
  setpgid(0, 0);  // Ctrl-C is for its parent, which then stops all
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(start.output, STDOUT_FILENO);
  dup2(start.errors, STDERR_FILENO);
  int error = EnterNode(start.keeper, start.node);
  if (error == 0) error = EnterProcesses(start.keeper);
  if (error != 0) {
    fmt::print(stderr, "can't enter the lab: {}\n", std::strerror(error));
    std::fflush(stderr);
    _exit(126);
  }
  child_of_guard = fork();
  if (child_of_guard == 0) RunProgram(start);
  signal(SIGTERM, ForwardSignal);
  [[maybe_unused]] const ssize_t written = write(start.birth, &child_of_guard, sizeof(child_of_guard));
  close(start.birth);
  int status = 0;
  while (waitpid(child_of_guard, &status, 0) < 0 && errno == EINTR) continue;
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

// The number of the trainer; -1: the guard ended before it was born.
pid_t ReadBirth(int birth) {
  pid_t pid = -1;
  ssize_t count = 0;
  do {
    count = read(birth, &pid, sizeof(pid));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(pid) ? pid : -1;
}

}  // namespace

std::string ControlFileOf(const std::string& path) { return path + ".control"; }

Result<TrainerProcess> TrainerProcess::Start(const LabState& state, const LabWorker& worker,
                                             const TrainerPrograms& programs, const std::string& path) {
  FL_RETURN_IF_ERROR(WriteFileAtomically(path + ".json", WriteTrainerPlan(worker.plan), Outlives::kProcess));
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const Descriptor output(open((path + ".jsonl").c_str(), flags, 0600));
  const Descriptor errors(open((path + ".log").c_str(), flags, 0600));
  std::array<int, 2> birth{};
  if (!output.is_open() || !errors.is_open() || pipe2(birth.data(), O_CLOEXEC) != 0) {
    return Unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
  }
  const Descriptor read_end(birth[0]);
  Descriptor write_end(birth[1]);
  GuardStart start{.keeper = state.keeper,
                   .node = worker.host,
                   .args = {programs.trainer},
                   .environment = EnvironmentOf(state, worker, programs, path),
                   .output = output.get(),
                   .errors = errors.get(),
                   .birth = write_end.get()};
  if (!programs.profiler_plugin.empty()) start.args.emplace_back("--ccl=plugin");
  start.args.push_back(path + ".json");
  TrainerProcess process;
  process.guard_ = fork();
  if (process.guard_ < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
  if (process.guard_ == 0) RunGuard(start);
  write_end.Close();
  process.trainer_ = ReadBirth(read_end.get());
  process.path_ = path;
  process.job_ = worker.plan.job;
  process.worker_ = worker.plan.worker;
  process.host_ = worker.host;
  return process;
}

TrainerProcess::~TrainerProcess() { Kill(); }

TrainerProcess::TrainerProcess(TrainerProcess&& other) noexcept { *this = std::move(other); }

TrainerProcess& TrainerProcess::operator=(TrainerProcess&& other) noexcept {
  std::swap(guard_, other.guard_);
  std::swap(trainer_, other.trainer_);
  std::swap(has_ended_, other.has_ended_);
  std::swap(exit_code_, other.exit_code_);
  std::swap(path_, other.path_);
  std::swap(job_, other.job_);
  std::swap(worker_, other.worker_);
  std::swap(host_, other.host_);
  return *this;
}

bool TrainerProcess::HasEnded() {
  int status = 0;
  if (has_ended_ || waitpid(guard_, &status, WNOHANG) == 0) return has_ended_;
  has_ended_ = true;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return true;
}

bool TrainerProcess::IsStopped() const {
  if (has_ended_ || trainer_ <= 0) return false;
  // "12 (name) T …"; the name may have parentheses.
  const std::string text = ReadFileIfThere(fmt::format("/proc/{}/stat", trainer_));
  const size_t end = text.rfind(") ");
  return end != text.npos && (text[end + 2] == 'T' || text[end + 2] == 't');
}

void TrainerProcess::Signal(int number) {
  // While the guard is not reaped the number of its child is not given to another one.
  if (!HasEnded() && trainer_ > 0) kill(trainer_, number);
}

void TrainerProcess::AskToEnd() {
  Signal(SIGTERM);
  Signal(SIGCONT);
}

void TrainerProcess::Kill() {
  if (guard_ <= 0 || HasEnded()) return;
  Signal(SIGKILL);
  // A guard without a child has not come so far, or never will.
  if (trainer_ <= 0) kill(guard_, SIGKILL);
  int status = 0;
  while (waitpid(guard_, &status, 0) < 0 && errno == EINTR) continue;
  has_ended_ = true;
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string TrainerProcess::Records() const { return ReadFileIfThere(path_ + ".jsonl"); }

std::string TrainerProcess::Log() const {
  std::string text = ReadFileIfThere(path_ + ".log");
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

bool TrainerProcess::IsConnected() const { return Records().find("\"connected\"") != std::string::npos; }

}  // namespace fairlead::lab
