#include "lab/steered_lab.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>

#include "base/steady_seconds.h"

namespace fairlead::lab {

namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr double kLookPeriod = 0.25;
// A controller that does not answer for so long is gone.
constexpr double kPagePatience = 30;
constexpr double kStartPatience = 90;

// Hosts of the fabric that no job of the scenario is on. Errors: kInvalidArgument: a job does not say where it is.
Result<std::vector<std::string>> FindSpares(const sim::Scenario& scenario) {
  std::set<HostId> used;
  for (const sim::ScenarioJob& job : scenario.jobs) {
    if (job.job.hosts.empty()) {
      return InvalidArgument(fmt::format(
          "job {} names no hosts, so it is unknown which are spare; expected: hosts: [h0, h1, ..]", job.job.name));
    }
    used.insert(job.job.hosts.begin(), job.job.hosts.end());
  }
  std::vector<std::string> spares;
  for (HostId host(0u); host.index() < scenario.fabric.num_hosts(); host = HostId(host.index() + 1)) {
    if (!used.contains(host)) spares.push_back(scenario.fabric.HostName(host));
  }
  return spares;
}

// Options of `fairlead controller` beyond those of every lab.
Result<std::vector<std::string>> SteeringArguments(const SteeredLabOptions& options,
                                                   const std::vector<std::string>& spares) {
  if (!options.acts) return std::vector<std::string>();
  FL_ASSIGN_OR_RETURN(const std::string program, FindProgram("fairlead-lab"));
  const std::string run_folder = std::filesystem::absolute(options.session.run_folder).string();
  std::vector<std::string> args = {
      "--steer", "act", "--hook",
      fmt::format("{} hook --run-dir {} --name {}", program, run_folder, options.session.name)};
  // A lab is broken more often in ten minutes than a cluster in weeks: limits that are made for clusters don't apply.
  args.insert(args.end(),
              {"--max-hosts-per-hour", "1000", "--max-job-share", "1", "--max-cluster-share", "1", "--hold-off", "0"});
  for (const std::string& spare : spares) args.insert(args.end(), {"--spare", spare});
  return args;
}

}  // namespace

SteeredLab::SteeredLab(LabSession session, const SteeredLabOptions& options, const std::atomic<bool>& stop)
    : session_(std::move(session)),
      injector_(&session_, nullptr),
      steering_(nullptr, {}),
      page_(options.session.page),
      stop_(stop),
      last_answer_s_(SteadySeconds()) {}

Result<std::unique_ptr<SteeredLab>> SteeredLab::Start(const std::string& file, const sim::Scenario& scenario,
                                                      const SteeredLabOptions& options, const std::atomic<bool>& stop) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> spares, FindSpares(scenario));
  JobRunnerOptions runner_options;
  FL_ASSIGN_OR_RETURN(runner_options.programs.trainer, FindTrainer(options.trainer));
  FL_ASSIGN_OR_RETURN(runner_options.programs.steering_library, FindSteeringLibrary());
  FL_ASSIGN_OR_RETURN(runner_options.programs.profiler_plugin, FindProfilerPlugin());
  LabSessionOptions session_options = options.session;
  FL_ASSIGN_OR_RETURN(session_options.controller_arguments, SteeringArguments(options, spares));
  FL_ASSIGN_OR_RETURN(LabSession session, LabSession::Start(file, scenario, session_options, stop));
  std::unique_ptr<SteeredLab> lab(new SteeredLab(std::move(session), options, stop));
  const LabFolder& folder = lab->session_.folder();
  runner_options.programs.lab_folder = folder.path();
  runner_options.folder = folder.JobsFolder();
  runner_options.checkpoint_every = options.checkpoint_every;
  FL_ASSIGN_OR_RETURN(JobRunner runner, JobRunner::Create(scenario, lab->session_.state(), runner_options));
  lab->runner_ = std::make_unique<JobRunner>(std::move(runner));
  FL_ASSIGN_OR_RETURN(JobsServer jobs_server, JobsServer::Open(JobsSocket(folder.path())));
  lab->jobs_server_ = std::make_unique<JobsServer>(std::move(jobs_server));
  lab->injector_ = LabFaultInjector(&lab->session_, lab->runner_.get());
  lab->steering_ = JobSteering(lab->runner_.get(),
                               [lab = lab.get()](LabNodeId host) { return host == lab->injector_.faulty_host(); });
  return lab;
}

Result<bool> SteeredLab::WaitUntil(double patience_s, const std::function<bool()>& is_so) {
  const double end_s = SteadySeconds() + patience_s;
  while (!is_so()) {
    if (stop_) return Status(StatusCode::kCancelled, "stopped; nothing of the lab is left");
    if (SteadySeconds() >= end_s) return false;
    for (const JobsServer::Question& question : jobs_server_->Take()) {
      jobs_server_->Answer(question.id, steering_.Handle(question.text));
    }
    FL_RETURN_IF_ERROR(LookAtPage());
    std::this_thread::sleep_for(kTick);
  }
  return true;
}

Status SteeredLab::LookAtPage() {
  const double now_s = SteadySeconds();
  if (now_s < next_look_s_) return OkStatus();
  next_look_s_ = now_s + kLookPeriod;
  auto findings = GetFindings(page_);
  if (!findings.ok()) return now_s - last_answer_s_ > kPagePatience ? findings.status() : OkStatus();
  last_answer_s_ = now_s;
  for (wire::LiveFinding& finding : *findings) {
    if (finding.confirmed_at_s && known_.insert(finding.id).second) fresh_.push_back(std::move(finding));
  }
  return OkStatus();
}

Status SteeredLab::StartJob(JobId job) {
  FL_RETURN_IF_ERROR(runner_->Start(job));
  const uint32_t run = runner_->ProgressOf(job).run;
  const auto is_decided = [&] { return HasIterationOf(job, run) || !IsWhole(job); };
  FL_RETURN_IF_ERROR(WaitUntil(kStartPatience, is_decided).status());
  if (HasIterationOf(job, run)) return OkStatus();
  return Unavailable(fmt::format("job {} does not get on: {}", runner_->name(job), ExplainJob(job)));
}

bool SteeredLab::HasIterationOf(JobId job, uint32_t run) const {
  const JobProgress progress = runner_->ProgressOf(job);
  return progress.run == run && progress.iteration.has_value();
}

std::string SteeredLab::ExplainJob(JobId job) {
  const std::vector<uint32_t> ended = runner_->EndedWorkers(job);
  if (ended.empty()) return fmt::format("no iteration after {:.0f} s", kStartPatience);
  const TrainerProcess& worker = runner_->Workers(job)[ended.front()];
  return fmt::format("worker {} ended with exit code {}: {}", ended.front(), worker.exit_code(), worker.Log());
}

}  // namespace fairlead::lab
