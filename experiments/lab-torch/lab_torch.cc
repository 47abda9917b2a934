#include "experiments/lab-torch/lab_torch.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "base/file_writer.h"
#include "base/steady_seconds.h"
#include "experiments/embedded_texts.h"
#include "experiments/lab-torch/torch_job.h"
#include "experiments/lab_experiment.h"
#include "lab/lab_programs.h"
#include "lab/lab_run.h"
#include "lab/lab_run_report.h"
#include "lab/lab_services.h"
#include "lab/lab_workload.h"
#include "traffic/live_policy.h"

namespace fairlead::experiments::lab_torch {

namespace {

constexpr const char* kScenario = "scenarios/lab-torch.yaml";
constexpr const char* kScript = "experiments/lab-torch/train_ddp.py";
constexpr double kSeconds = 30;
constexpr double kReducedSeconds = 12;
// Until jobs have their levels, and connections their paths.
constexpr double kWarmUp = 10;
// Of the PyTorch job alone: the first ones, in which it connects, don't count.
constexpr size_t kFirstIterations = 3;
constexpr size_t kAloneIterations = 10;
constexpr double kAlonePatience = 90;
// More than it will ever do.
constexpr uint64_t kIterations = 100'000;

struct PolicyResult {
  double alone_s = 0;
  double beside_s = 0;
  double jobs_gbps = 0;
};

// Mean iteration while no other job sends.
Result<double> MeasureAlone(TorchJob* job, const std::atomic<bool>& stop) {
  const double end_s = SteadySeconds() + kAlonePatience;
  for (;;) {
    if (stop) return Status(StatusCode::kCancelled, "stopped");
    FL_RETURN_IF_ERROR(job->Check());
    const auto iterations = job->Iterations();
    if (iterations.size() >= kFirstIterations + kAloneIterations) {
      return MeanWithin(iterations, iterations[kFirstIterations].begin_s, SteadySeconds());
    }
    if (SteadySeconds() > end_s) {
      return Unavailable(fmt::format("the PyTorch job alone ended {} iterations in {:.0f} s; expected at least {}",
                                     iterations.size(), kAlonePatience, kFirstIterations + kAloneIterations));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<PolicyResult> RunPolicy(const LabScenario& scenario, const std::string& script, std::string_view policy,
                               const experiment::RunContext& context) {
  lab::LabSessionOptions options = LabOptionsOf(context);
  options.controller_arguments = {"--policy", std::string(policy)};
  FL_ASSIGN_OR_RETURN(lab::LabSession session,
                      lab::LabSession::Start(scenario.file(), scenario.scenario(), options, *context.stop));
  const std::string& folder = session.folder().path();
  TorchJobOptions torch = {.program = {},
                           .run_folder = options.run_folder,
                           .lab = options.name,
                           .script = script,
                           .steering_library = {},
                           .hosts = {"h0", "h4"},
                           .agent_sockets = {lab::AgentSocket(folder, "h0"), lab::AgentSocket(folder, "h4")},
                           .log = script + ".log",
                           .iterations = kIterations};
  FL_ASSIGN_OR_RETURN(torch.program, lab::FindProgram("fairlead-lab"));
  FL_ASSIGN_OR_RETURN(torch.steering_library, lab::FindSteeringLibrary());
  FL_ASSIGN_OR_RETURN(TorchJob job, TorchJob::Start(torch));
  PolicyResult result;
  FL_ASSIGN_OR_RETURN(result.alone_s, MeasureAlone(&job, *context.stop));
  FL_ASSIGN_OR_RETURN(const auto jobs,
                      lab::PlanJobs(scenario.scenario(), session.state().plan, 0, lab::QueuePairBytes::kFixed));
  const double seconds = context.reduced ? kReducedSeconds : kSeconds;
  double begin_s = 0;
  const lab::LabDeed note_begin = {.at_s = 0, .act = [&] {
                                     begin_s = SteadySeconds();
                                     return OkStatus();
                                   }};
  FL_ASSIGN_OR_RETURN(const lab::LabRunResult run, session.Run(jobs, true, kWarmUp, seconds, {note_begin}));
  FL_RETURN_IF_ERROR(job.Check());
  result.beside_s = MeanWithin(job.Iterations(), begin_s, begin_s + seconds);
  result.jobs_gbps = lab::ThroughputOf(run).total_bytes_per_s * 8e-9 / options.lab.scale;
  return result;
}

}  // namespace

Result<experiment::Outcome> Run(const experiment::RunContext& context) {
  experiment::Outcome outcome;
  if (!HasTorch()) {
    outcome.is_partial = true;
    outcome.notes.emplace_back(
        "Not run: /usr/bin/python3 can't import torch. Install it: apt-get install python3-torch");
    return outcome;
  }
  FL_ASSIGN_OR_RETURN(const LabScenario scenario, LabScenario::Write(kScenario));
  const std::string script = (std::filesystem::path(scenario.file()).parent_path() / "train_ddp.py").string();
  FL_RETURN_IF_ERROR(WriteFileAtomically(script, FindEmbeddedText(kScript)));
  double part = 0;
  for (const char* name : {"ecmp", "crux+c4p"}) {
    context.Report(part++ / 2);
    FL_ASSIGN_OR_RETURN(const traffic::LivePolicy policy, traffic::FindLivePolicy(name));
    const auto result = RunPolicy(scenario, script, policy.name, context);
    if (!result.ok()) return WithoutLab(result.status());
    const std::string row(policy.decides);
    outcome.Set(row + ": PyTorch alone", result->alone_s);
    outcome.Set(row + ": PyTorch beside three jobs", result->beside_s);
    outcome.Set(row + ": PyTorch, slower than alone", 100 * (result->beside_s / result->alone_s - 1));
    outcome.Set(row + ": the three jobs", result->jobs_gbps);
  }
  outcome.notes.emplace_back(
      "torch.distributed over Gloo on two hosts, started with LD_PRELOAD and FAIRLEAD_JOB. One lab for each; what the "
      "hash does is luck. No counters of GPUs: the PyTorch job stays on the last level.");
  return outcome;
}

}  // namespace fairlead::experiments::lab_torch
