#include "lab/lab_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "base/statistics.h"
#include "base/steady_seconds.h"
#include "lab/awake_processors.h"
#include "lab/trainer_process.h"

namespace fairlead::lab {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollPeriod{100};
constexpr double kConnectPatience = 90;
// After SIGTERM; a trainer ends within a tenth of a second.
constexpr double kStopPatience = 10;

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
    if (options_.recorder != nullptr) options_.recorder->Begin(jobs);
    const auto draw = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
    for (LabJob job : jobs) {
      DrawCommunicatorIds(draw, &job);
      for (const LabWorker& worker : job.workers) {
        const std::string path = fmt::format("{}/{}.{}", options_.jobs_folder, processes_.size(), worker.plan.worker);
        FL_ASSIGN_OR_RETURN(TrainerProcess process, TrainerProcess::Start(state_, worker, options_.programs, path));
        processes_.push_back(std::move(process));
      }
    }
    return OkStatus();
  }

  // Looks for ended processes. Errors: kUnavailable: one of them failed.
  Status Check() {
    if (options_.recorder != nullptr) options_.recorder->Look(processes_);
    for (TrainerProcess& process : processes_) {
      if (process.HasEnded() && process.exit_code() != 0 && !is_stopping_) return ExplainEnd(process);
    }
    return OkStatus();
  }

  bool AllConnected() const {
    return std::all_of(processes_.begin(), processes_.end(), [](const auto& p) { return p.IsConnected(); });
  }

  bool AllEnded() {
    return std::all_of(processes_.begin(), processes_.end(), [](auto& p) { return p.HasEnded(); });
  }

  // SIGTERM, then SIGKILL.
  void Stop() {
    is_stopping_ = true;
    const double end_s = SteadySeconds() + kStopPatience;
    for (TrainerProcess& process : processes_) process.AskToEnd();
    while (!AllEnded() && SteadySeconds() < end_s) std::this_thread::sleep_for(kPollPeriod / 10);
    for (TrainerProcess& process : processes_) process.Kill();
  }

  // Ends the recording, and the trainers.
  void EndRecording() {
    if (options_.recorder == nullptr) return;
    Stop();
    options_.recorder->End(processes_);
  }

  // [worker in the order of Start()]
  std::vector<std::string> Records() const {
    std::vector<std::string> records;
    for (const TrainerProcess& process : processes_) records.push_back(process.Records());
    return records;
  }

 private:
  Status ExplainEnd(const TrainerProcess& process) const {
    const int code = process.exit_code();
    // When a lab is taken down its keeper ends last.
    if (code == 128 + SIGKILL) std::this_thread::sleep_for(3 * kPollPeriod);
    if (!IsAlive(state_.keeper)) {
      return Unavailable(fmt::format("lab '{}' was taken down while its jobs ran", state_.name));
    }
    const std::string message = code > 128 ? fmt::format("it was ended by signal {}", code - 128) : process.Log();
    return Unavailable(fmt::format("worker {} of job {} failed: {} (exit code {}; its files: {}.*)", process.worker(),
                                   process.job(), message, code, process.path()));
  }

  const LabState& state_;
  const LabRunOptions& options_;
  std::vector<TrainerProcess> processes_;
  bool is_stopping_ = false;
};

// Waits until `is_done`, or `end_s` of the clock. False: it was the clock.
Result<bool> WaitUntil(Trainers* trainers, double end_s, const std::atomic<bool>& stop,
                       const std::function<bool()>& is_done) {
  while (!is_done()) {
    if (stop) return Status(StatusCode::kCancelled, "stopped; the lab is still up");
    FL_RETURN_IF_ERROR(trainers->Check());
    if (SteadySeconds() >= end_s) return false;
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

double MeanIterationOf(const LabJobResult& job) { return Mean(job.iteration_s); }

namespace {

Result<LabRunResult> RunWith(const LabState& state, const std::vector<LabJob>& jobs, const LabRunOptions& options,
                             const std::atomic<bool>& stop, Trainers* of_run) {
  Trainers& trainers = *of_run;
  FL_RETURN_IF_ERROR(trainers.Start(jobs));
  FL_ASSIGN_OR_RETURN(const bool connected, WaitUntil(&trainers, SteadySeconds() + kConnectPatience, stop,
                                                      [&] { return trainers.AllConnected(); }));
  if (!connected) return Unavailable("the trainers did not reach each other in time; see fairlead lab status");
  const auto all_ended = [&] { return trainers.AllEnded(); };
  FL_RETURN_IF_ERROR(WaitUntil(&trainers, SteadySeconds() + options.warm_up_s, stop, all_ended).status());
  LabRunResult result;
  FL_ASSIGN_OR_RETURN(result.before, ReadCounters(state));
  if (options.recorder != nullptr) options.recorder->BeginMeasuring();
  const double begin_s = SteadySeconds();
  for (const LabDeed& deed : options.deeds) {
    FL_RETURN_IF_ERROR(WaitUntil(&trainers, begin_s + deed.at_s, stop, all_ended).status());
    FL_RETURN_IF_ERROR(deed.act());
  }
  FL_RETURN_IF_ERROR(WaitUntil(&trainers, begin_s + options.seconds, stop, all_ended).status());
  const double end_s = SteadySeconds();
  FL_ASSIGN_OR_RETURN(result.after, ReadCounters(state));
  if (options.recorder != nullptr) options.recorder->EndMeasuring();
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

}  // namespace

Result<LabRunResult> RunJobs(const LabState& state, const std::vector<LabJob>& jobs, const LabRunOptions& options,
                             const std::atomic<bool>& stop) {
  if (!IsAlive(state.keeper)) {
    return Unavailable(fmt::format("lab '{0}' has ended. Clean up with: fairlead lab down --name {0}", state.name));
  }
  const AwakeProcessors awake;
  Trainers trainers(state, options);
  auto result = RunWith(state, jobs, options, stop, &trainers);
  trainers.EndRecording();
  return result;
}

}  // namespace fairlead::lab
