#include "sim/scenario_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/check_capture.h"
#include "base/parallel_for.h"
#include "base/process_usage.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/placement_policy.h"
#include "traffic/policy_registry.h"
#include "version.h"

namespace fairlead::sim {

namespace {

// What slowdowns are measured against: the paths that Crux would give a job that is alone.
constexpr std::string_view kSoloPolicy = "crux";

struct PlannedRun {
  std::string policy;
  std::string allocation;  // empty: sizes are fixed
  uint64_t seed = 0;
};

// Fractions of all runs, summed up under a lock.
class SharedProgress {
 public:
  SharedProgress(size_t num_runs, const RunProgress& report) : fractions_(num_runs), report_(report) {}

  void Set(size_t run, double fraction) {
    if (!report_) return;
    const std::lock_guard lock(mutex_);
    fractions_[run] = fraction;
    double sum = 0;
    for (double f : fractions_) sum += f;
    report_(sum / static_cast<double>(fractions_.size()));
  }

 private:
  std::mutex mutex_;
  std::vector<double> fractions_;
  const RunProgress& report_;
};

RunResult RunOnce(const Scenario& scenario, const PlannedRun& run, std::optional<JobId> explained_job,
                  const std::atomic<bool>& stop, const RunWatch::Progress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const auto placement = scheduling::CreatePlacementPolicy(scenario.placement, scenario.placement_seed).value();
  const auto policy = traffic::CreatePolicy(run.policy, scenario.policy_options).value();
  const auto solo_policy = traffic::CreatePolicy(kSoloPolicy, {}).value();
  SimulationOptions options = scenario.simulation;
  options.controller.hash_seed = run.seed;
  options.controller.random_seed = run.seed;
  std::vector<scheduling::DecisionRecord> decisions;
  std::unique_ptr<scheduling::AllocationPolicy> allocation;
  if (!run.allocation.empty()) {
    allocation = scheduling::CreateAllocationPolicy(run.allocation, run.seed).value();
    options.controller.allocation.policy = allocation.get();
    options.controller.allocation.learns_speeds = scenario.learns_speeds;
    if (explained_job)
      options.controller.allocation.observer = scheduling::RecordDecisionsAbout(*explained_job, &decisions);
  }
  std::vector<model::Job> jobs;
  for (const ScenarioJob& entry : scenario.jobs) jobs.push_back(entry.job);
  ClusterSimulation simulation(scenario.fabric, *placement, *policy, *solo_policy, MakeIterationProvider(scenario),
                               std::move(jobs), scenario.link_events, options);
  RunWatch watch(stop, progress);
  RunResult result = simulation.Run(watch);
  result.decisions = std::move(decisions);
  if (!run.allocation.empty()) result.policy = fmt::format("{}+{}", run.allocation, result.policy);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.peak_rss_mb = PeakRssMb();
  return result;
}

FailedRun DescribeFailure(const PlannedRun& run, const Status& failure, const ScenarioRunOptions& options) {
  FailedRun failed{.policy = run.allocation.empty() ? run.policy : fmt::format("{}+{}", run.allocation, run.policy),
                   .seed = run.seed,
                   .message = failure.message(),
                   .reproduce = ""};
  if (options.reproduce) failed.reproduce = options.reproduce(run.policy, run.allocation, run.seed);
  return failed;
}

}  // namespace

Result<SimulationReport> RunScenario(const Scenario& scenario, const ScenarioRunOptions& options,
                                     const std::atomic<bool>& stop, const RunProgress& progress) {
  std::vector<PlannedRun> planned;
  for (const std::string& policy : scenario.policies) {
    if (const auto created = traffic::CreatePolicy(policy, {}); !created.ok()) return created.status();
    if (std::count(scenario.policies.begin(), scenario.policies.end(), policy) > 1) {
      return InvalidArgument(fmt::format("the policy {} stands twice; expected each once", policy));
    }
  }
  if (const Status status = CheckSpeedReports(scenario); !status.ok()) {
    return InvalidArgument(fmt::format("speed_report_s: {}", status.message()));
  }
  for (const std::string& allocation : scenario.allocations) {
    const auto created = scheduling::CreateAllocationPolicy(allocation, 1);
    if (!created.ok()) return created.status();
  }
  const std::vector<std::string> fixed = {""};
  for (const std::string& allocation : scenario.allocations.empty() ? fixed : scenario.allocations) {
    for (const std::string& policy : scenario.policies) {
      for (uint32_t s = 0; s < scenario.num_seeds; ++s) {
        planned.push_back({policy, allocation, scenario.first_seed + s});
      }
    }
  }
  std::vector<std::optional<RunResult>> results(planned.size());
  std::vector<Status> failures(planned.size());
  SharedProgress shared_progress(planned.size(), progress);
  ParallelFor(planned.size(), options.num_threads, stop, [&](size_t i) {
    failures[i] = CatchFailedChecks([&] {
      results[i] = RunOnce(scenario, planned[i], options.explained_job, stop,
                           [&](double fraction) { shared_progress.Set(i, fraction); });
    });
    shared_progress.Set(i, 1);
  });

  SimulationReport report;
  report.scenario = scenario.title;
  report.version = kVersion;
  report.num_gpus = scenario.fabric.num_gpus();
  report.fabric_summary = SummarizeFabric(scenario.fabric);
  report.notes = scenario.notes;
  for (size_t i = 0; i < planned.size(); ++i) {
    if (results[i]) report.runs.push_back(std::move(*results[i]));
    if (failures[i].ok()) continue;
    report.failed_runs.push_back(DescribeFailure(planned[i], failures[i], options));
    if (!options.keeps_others)
      return Internal(
          fmt::format("{}, seed {}: {}", report.failed_runs.back().policy, planned[i].seed, failures[i].message()));
  }
  return report;
}

std::string SummarizeFabric(const topology::Fabric& fabric) {
  std::array<size_t, 8> counts{};
  for (size_t n = 0; n < fabric.num_nodes(); ++n) ++counts[static_cast<size_t>(fabric.kind(NodeId(n)))];
  const auto count = [&](topology::NodeKind kind) { return counts[static_cast<size_t>(kind)]; };
  std::string text = fmt::format("{} hosts, {} GPUs ({}), {} leaves", fabric.num_hosts(), fabric.num_gpus(),
                                 fabric.gpu_model(), count(topology::NodeKind::kLeaf));
  if (const size_t spines = count(topology::NodeKind::kSpine); spines > 0) text += fmt::format(", {} spines", spines);
  if (const size_t cores = count(topology::NodeKind::kCore); cores > 0) text += fmt::format(", {} cores", cores);
  return text;
}

}  // namespace fairlead::sim
