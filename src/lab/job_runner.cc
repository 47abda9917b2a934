#include "lab/job_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "base/file_reader.h"
#include "base/file_writer.h"

namespace fairlead::lab {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPollPeriod{10};
// Of a file of records, from its end: some lines.
constexpr size_t kTailBytes = 1024;

// By the last records of a worker, which may not have begun.
std::optional<LastIteration> ReadLastIteration(const std::string& path) {
  const Result<std::string> records = ReadEndOfFile(path, kTailBytes);
  return records.ok() ? FindLastIteration(*records) : std::nullopt;
}

}  // namespace

std::string WriteWorkerControl(const WorkerControl& control) {
  nlohmann::json json = nlohmann::json::object();
  if (control.busy_s > 0) json["busy_s"] = control.busy_s;
  if (control.loader_s > 0) json["loader_s"] = control.loader_s;
  if (control.pause_s > 0) json["pause_s"] = control.pause_s;
  if (control.has_bad_order) json["bad_order"] = true;
  return json.dump() + "\n";
}

std::optional<LastIteration> FindLastIteration(std::string_view records) {
  while (!records.empty()) {
    const size_t begin = records.rfind('\n', records.size() - 1);
    const std::string_view line = begin == records.npos ? records : records.substr(begin + 1);
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("iteration")) {
      return LastIteration{.number = json["iteration"],
                           .ended_s = json["begin_s"].get<double>() + json["seconds"].get<double>()};
    }
    if (begin == records.npos) return std::nullopt;
    records = records.substr(0, begin);
  }
  return std::nullopt;
}

JobRunner::JobRunner(const sim::Scenario& scenario, const LabState& state, JobRunnerOptions options)
    : scenario_(scenario), num_queue_pairs_(scenario.qps_per_connection), state_(&state), options_(std::move(options)) {
  // Queue pairs of a flow are made by PlanJob().
  scenario_.qps_per_connection = 1;
}

Result<JobRunner> JobRunner::Create(const sim::Scenario& scenario, const LabState& state, JobRunnerOptions options) {
  JobRunner runner(scenario, state, std::move(options));
  FL_ASSIGN_OR_RETURN(auto plans, PlanJobs(scenario, state.plan, 0));
  for (LabJob& plan : plans) runner.jobs_.push_back({.plan = std::move(plan), .workers = {}});
  std::error_code error;
  std::filesystem::remove_all(runner.options_.folder, error);
  std::filesystem::create_directories(runner.options_.folder, error);
  if (error) return Unavailable(fmt::format("{}: {}", runner.options_.folder, error.message()));
  return runner;
}

std::optional<JobId> JobRunner::Find(std::string_view name) const {
  for (JobId job(0u); job.index() < jobs_.size(); job = JobId(job.index() + 1)) {
    if (jobs_[job].plan.name == name) return job;
  }
  return std::nullopt;
}

std::vector<LabNodeId> JobRunner::HostsOf(JobId job) const {
  std::vector<LabNodeId> hosts;
  for (const LabWorker& worker : jobs_[job].plan.workers) hosts.push_back(worker.host);
  return hosts;
}

std::string JobRunner::PathOf(const Job& job, uint32_t run, uint32_t worker) const {
  return fmt::format("{}/{}.{}.{}", options_.folder, job.plan.name, run, worker);
}

Result<LabJob> JobRunner::PlanOn(JobId id, const std::vector<LabNodeId>& hosts) const {
  const LabJob& before = jobs_[id].plan;
  if (hosts.size() != before.workers.size() || std::set(hosts.begin(), hosts.end()).size() != hosts.size()) {
    return InvalidArgument(
        fmt::format("job {}: expected {} different hosts, found {}", before.name, before.workers.size(), hosts.size()));
  }
  JobPlace place{.job = id,
                 .hosts = hosts,
                 .num_gpus = {},
                 .num_queue_pairs = num_queue_pairs_,
                 .listen_port = before.workers.front().plan.listen_port,
                 .num_iterations = before.workers.front().plan.iterations};
  for (const LabWorker& worker : before.workers) place.num_gpus.push_back(worker.plan.num_gpus);
  return PlanJobAt(scenario_, state_->plan, place);
}

Status JobRunner::Restart(JobId id, const std::vector<LabNodeId>& hosts) {
  FL_ASSIGN_OR_RETURN(LabJob plan, PlanOn(id, hosts));
  Stop(id);
  jobs_[id].plan = std::move(plan);
  return Start(id);
}

Status JobRunner::Start(JobId id) {
  Stop(id);
  Job& job = jobs_[id];
  ++job.run;
  DrawCommunicatorIds(static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()), &job.plan);
  for (LabWorker& worker : job.plan.workers) {
    worker.plan.checkpoint = fmt::format("{}/{}.checkpoint", options_.folder, job.plan.name);
    worker.plan.checkpoint_every = options_.checkpoint_every;
    auto started = TrainerProcess::Start(*state_, worker, options_.programs, PathOf(job, job.run, worker.plan.worker));
    if (!started.ok()) {
      Stop(id);
      return started.status();
    }
    job.workers.push_back(std::move(*started));
  }
  return OkStatus();
}

void JobRunner::Stop(JobId id) {
  std::vector<TrainerProcess>& workers = jobs_[id].workers;
  const auto end = steady_clock::now() + std::chrono::duration<double>(options_.stop_patience_s);
  for (TrainerProcess& worker : workers) worker.AskToEnd();
  const auto all_ended = [&] {
    return std::all_of(workers.begin(), workers.end(), [](auto& w) { return w.HasEnded(); });
  };
  while (!all_ended() && steady_clock::now() < end) std::this_thread::sleep_for(kPollPeriod);
  workers.clear();
}

bool JobRunner::AllConnected(JobId id) const {
  const std::vector<TrainerProcess>& workers = jobs_[id].workers;
  return !workers.empty() && std::all_of(workers.begin(), workers.end(), [](const auto& w) { return w.IsConnected(); });
}

std::vector<uint32_t> JobRunner::EndedWorkers(JobId id) {
  std::vector<uint32_t> ended;
  for (TrainerProcess& worker : jobs_[id].workers) {
    if (worker.HasEnded()) ended.push_back(worker.worker());
  }
  return ended;
}

Status JobRunner::Control(JobId id, uint32_t worker, const WorkerControl& control) {
  return WriteFileAtomically(ControlFileOf(PathOf(jobs_[id], jobs_[id].run, worker)), WriteWorkerControl(control),
                             Outlives::kProcess);
}

JobProgress JobRunner::ProgressOf(JobId id) const {
  const Job& job = jobs_[id];
  JobProgress progress{.run = job.run, .iteration = std::nullopt};
  if (job.run == 0) return progress;
  const auto last = ReadLastIteration(PathOf(job, job.run, 0) + ".jsonl");
  if (!last) return progress;
  progress.iteration = last->number;
  progress.ended_s = last->ended_s;
  return progress;
}

std::optional<IterationSpan> JobRunner::IterationsOf(JobId id, uint32_t run) const {
  const std::string path = PathOf(jobs_[id], run, 0) + ".jsonl";
  const auto last = ReadLastIteration(path);
  std::ifstream file(path);
  for (std::string line; last && std::getline(file, line);) {
    if (const auto first = FindLastIteration(line)) return IterationSpan{first->number, last->number};
  }
  return std::nullopt;
}

}  // namespace fairlead::lab
