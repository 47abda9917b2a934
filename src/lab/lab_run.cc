#include "lab/lab_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/file_writer.h"
#include "lab/lab_services.h"
#include "lab/namespace_command.h"

namespace fairlead::lab {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollPeriod{100};
constexpr double kConnectPatience = 90;
// After SIGTERM; a trainer ends within a tenth of a second.
constexpr double kStopPatience = 10;

double NowSeconds() { return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count(); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

pid_t child_of_forwarder = 0;
extern "C" void ForwardSignal(int number) { kill(child_of_forwarder, number); }

using Environment = std::vector<std::pair<std::string, std::string>>;

// In a new process: enters the lab and becomes the parent of the program there, because only children are born into
// another process namespace. Ends with `lab run`, and the program with it.
[[noreturn]] void RunInLab(const KeeperId& keeper, LabNodeId node, const std::vector<std::string>& words,
                           const Environment& environment, int output, int errors) {
  setpgid(0, 0);  // Ctrl-C is for `lab run`, which then tells all
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  int error = EnterNode(keeper, node);
  if (error == 0) error = EnterProcesses(keeper);
  if (error != 0) {
    fmt::print(stderr, "can't enter the lab: {}\n", std::strerror(error));
    std::fflush(stderr);
    _exit(126);
  }
  child_of_forwarder = fork();
  if (child_of_forwarder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGTERM, SIG_DFL);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments.front(), arguments.data());
    fmt::print(stderr, "{}: {}\n", words.front(), std::strerror(errno));
    std::fflush(stderr);
    _exit(127);
  }
  signal(SIGTERM, ForwardSignal);
  int status = 0;
  while (waitpid(child_of_forwarder, &status, 0) < 0 && errno == EINTR) continue;
  _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

// The trainers of a run. Ends them with itself.
class Trainers {
 public:
  explicit Trainers(const LabState& state, const LabRunOptions& options) : state_(state), options_(options) {}
  ~Trainers() { Stop(); }
  Trainers(const Trainers&) = delete;
  Trainers& operator=(const Trainers&) = delete;

  Status Start(const std::vector<LabJob>& jobs) {
    std::error_code error;
    std::filesystem::remove_all(options_.jobs_folder, error);
    std::filesystem::create_directories(options_.jobs_folder, error);
    for (const LabJob& job : jobs) {
      for (const LabWorker& worker : job.workers) FL_RETURN_IF_ERROR(StartOne(worker));
    }
    return OkStatus();
  }

  // Looks who has ended. Errors: kUnavailable: one of them failed.
  Status Check() {
    for (Process& process : processes_) {
      int status = 0;
      if (process.has_ended || waitpid(process.pid, &status, WNOHANG) == 0) continue;
      process.has_ended = true;
      const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      if (code == 0 || is_stopping_) continue;
      return ExplainEnd(process, code);
    }
    return OkStatus();
  }

  bool AllConnected() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const Process& process) {
      return ReadFile(process.path + ".jsonl").find("\"connected\"") != std::string::npos;
    });
  }

  bool AllEnded() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const Process& p) { return p.has_ended; });
  }

  // SIGTERM, then SIGKILL.
  void Stop() {
    is_stopping_ = true;
    const double end_s = NowSeconds() + kStopPatience;
    for (const Process& process : processes_) {
      if (!process.has_ended) kill(process.pid, SIGTERM);
    }
    while (Check().ok() && !AllEnded() && NowSeconds() < end_s) std::this_thread::sleep_for(kPollPeriod / 10);
    for (Process& process : processes_) {
      if (process.has_ended) continue;
      kill(process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
      process.has_ended = true;
    }
  }

  // [worker in the order of Start()]
  std::vector<std::string> Records() const {
    std::vector<std::string> records;
    for (const Process& process : processes_) records.push_back(ReadFile(process.path + ".jsonl"));
    return records;
  }

 private:
  struct Process {
    pid_t pid = -1;
    std::string path;  // of its files, without their endings
    std::string job;
    uint32_t worker = 0;
    bool has_ended = false;
  };

  Status ExplainEnd(const Process& process, int code) const {
    // When a lab is taken down its keeper ends last.
    if (code == 128 + SIGKILL) std::this_thread::sleep_for(3 * kPollPeriod);
    if (!IsAlive(state_.keeper)) {
      return Unavailable(fmt::format("lab '{}' was taken down while its jobs ran", state_.name));
    }
    std::string message = ReadFile(process.path + ".log");
    while (!message.empty() && message.back() == '\n') message.pop_back();
    if (code > 128) message = fmt::format("it was ended by signal {}", code - 128);
    return Unavailable(fmt::format("worker {} of job {} failed: {} (exit code {}; its files: {}.*)", process.worker,
                                   process.job, message, code, process.path));
  }

  Environment EnvironmentOf(const LabWorker& worker) const {
    if (options_.steering_library.empty()) return {};
    const std::string& host = state_.plan.nodes[worker.host].name;
    return {{"LD_PRELOAD", options_.steering_library},
            {"FAIRLEAD_JOB", worker.plan.job},
            {"FAIRLEAD_AGENT_SOCKET", AgentSocket(options_.lab_folder, host)},
            {"FAIRLEAD_GPU_COUNTERS", GpuFolder(options_.lab_folder, host)}};
  }

  Status StartOne(const LabWorker& worker) {
    const std::string path = fmt::format("{}/{}.{}", options_.jobs_folder, processes_.size(), worker.plan.worker);
    FL_RETURN_IF_ERROR(WriteFileAtomically(path + ".json", WriteTrainerPlan(worker.plan)));
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    const Descriptor output(open((path + ".jsonl").c_str(), flags, 0600));
    const Descriptor errors(open((path + ".log").c_str(), flags, 0600));
    if (!output.is_open() || !errors.is_open()) return Unavailable(fmt::format("{}: {}", path, std::strerror(errno)));
    const pid_t pid = fork();
    if (pid < 0) return Unavailable(fmt::format("fork: {}", std::strerror(errno)));
    if (pid == 0) {
      RunInLab(state_.keeper, worker.host, {options_.trainer, path + ".json"}, EnvironmentOf(worker), output.get(),
               errors.get());
    }
    processes_.push_back({.pid = pid, .path = path, .job = worker.plan.job, .worker = worker.plan.worker});
    return OkStatus();
  }

  const LabState& state_;
  const LabRunOptions& options_;
  std::vector<Process> processes_;
  bool is_stopping_ = false;
};

// Waits until `is_done`, or `end_s` of the clock. False: it was the clock.
Result<bool> WaitUntil(Trainers* trainers, double end_s, const std::atomic<bool>& stop,
                       const std::function<bool()>& is_done) {
  while (!is_done()) {
    if (stop) return Status(StatusCode::kCancelled, "stopped; the lab is still up");
    FL_RETURN_IF_ERROR(trainers->Check());
    if (NowSeconds() >= end_s) return false;
    std::this_thread::sleep_for(kPollPeriod);
  }
  return true;
}

struct IterationRecord {
  double begin_s = 0;
  double seconds = 0;
  double exposed_s = 0;
};

// By number of the iteration.
std::map<uint64_t, IterationRecord> ReadRecords(const std::string& text) {
  std::map<uint64_t, IterationRecord> records;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("iteration")) continue;
    records[json["iteration"]] = {json["begin_s"], json["seconds"], json["exposed_s"]};
  }
  return records;
}

uint64_t BytesPerIteration(const LabJob& job) {
  uint64_t bytes = 0;
  for (const LabWorker& worker : job.workers) {
    for (const PhasePlan& phase : worker.plan.phases) {
      for (const StreamPlan& stream : phase.streams) {
        for (const TransferPlan& transfer : stream.sends) bytes += transfer.bytes;
      }
    }
  }
  return bytes;
}

}  // namespace

LabJobResult SummarizeJob(const LabJob& job, const std::vector<std::string>& records, double begin_s, double end_s) {
  LabJobResult result;
  result.name = job.name;
  result.num_workers = static_cast<uint32_t>(job.workers.size());
  for (const LabWorker& worker : job.workers) {
    for (const ConnectionPlan& connection : worker.plan.connections) result.num_connections += connection.is_outgoing;
  }
  std::map<uint64_t, std::vector<IterationRecord>> by_iteration;
  for (const std::string& text : records) {
    for (const auto& [number, record] : ReadRecords(text)) by_iteration[number].push_back(record);
  }
  result.bytes_per_iteration = static_cast<double>(BytesPerIteration(job));
  double sum_s = 0;
  for (const auto& [number, of_workers] : by_iteration) {
    if (of_workers.size() != job.workers.size()) continue;  // some have not ended it
    IterationRecord mean;
    bool is_inside = true;
    for (const IterationRecord& record : of_workers) {
      is_inside &= record.begin_s >= begin_s && record.begin_s + record.seconds <= end_s;
      mean.begin_s += (record.begin_s - begin_s) / static_cast<double>(of_workers.size());
      mean.seconds += record.seconds / static_cast<double>(of_workers.size());
      mean.exposed_s += record.exposed_s / static_cast<double>(of_workers.size());
    }
    if (!is_inside) continue;
    result.iteration_s.push_back(mean.seconds);
    result.iterations.push_back({mean.begin_s, mean.seconds});
    result.exposed_s += mean.exposed_s;
    sum_s += mean.seconds;
  }
  if (result.iteration_s.empty()) return result;
  const double count = static_cast<double>(result.iteration_s.size());
  result.exposed_s /= count;
  result.sent_bytes_per_s = result.bytes_per_iteration * count / sum_s;
  return result;
}

Result<LabRunResult> RunJobs(const LabState& state, const std::vector<LabJob>& jobs, const LabRunOptions& options,
                             const std::atomic<bool>& stop) {
  if (!IsAlive(state.keeper)) {
    return Unavailable(fmt::format("lab '{0}' has ended. Clean up with: fairlead lab down --name {0}", state.name));
  }
  Trainers trainers(state, options);
  FL_RETURN_IF_ERROR(trainers.Start(jobs));
  FL_ASSIGN_OR_RETURN(const bool connected, WaitUntil(&trainers, NowSeconds() + kConnectPatience, stop,
                                                      [&] { return trainers.AllConnected(); }));
  if (!connected) return Unavailable("the trainers did not reach each other in time; see fairlead lab status");
  const auto all_ended = [&] { return trainers.AllEnded(); };
  FL_RETURN_IF_ERROR(WaitUntil(&trainers, NowSeconds() + options.warm_up_s, stop, all_ended).status());
  LabRunResult result;
  FL_ASSIGN_OR_RETURN(result.before, ReadCounters(state));
  const double begin_s = NowSeconds();
  for (const LabDeed& deed : options.deeds) {
    FL_RETURN_IF_ERROR(WaitUntil(&trainers, begin_s + deed.at_s, stop, all_ended).status());
    FL_RETURN_IF_ERROR(deed.act());
  }
  FL_RETURN_IF_ERROR(WaitUntil(&trainers, begin_s + options.seconds, stop, all_ended).status());
  const double end_s = NowSeconds();
  FL_ASSIGN_OR_RETURN(result.after, ReadCounters(state));
  result.measured_s = end_s - begin_s;
  trainers.Stop();
  const std::vector<std::string> records = trainers.Records();
  auto next = records.begin();
  for (const LabJob& job : jobs) {
    const auto last = next + static_cast<ptrdiff_t>(job.workers.size());
    result.jobs.push_back(SummarizeJob(job, {next, last}, begin_s, end_s));
    next = last;
  }
  return result;
}

}  // namespace fairlead::lab
