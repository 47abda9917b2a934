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
#include "scheduling/defragmentation_policy.h"
#include "scheduling/placement_policy.h"
#include "sim/flop_check.h"
#include "sim/scenario_migration.h"
#include "traffic/policy_registry.h"
#include "version.h"

namespace fairlead::sim {

namespace {

// What slowdowns are measured against: the paths that these would give a job that is alone.
constexpr std::array<std::string_view, 3> kSoloPolicies = {"crux", "c4p", "ecmp"};

struct PlannedRun {
  std::string policy;
  std::string allocation;  // empty: sizes are fixed
  uint32_t draw = 0;
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

// What one run is given besides its scenario.
struct RunInputs {
  const ScenarioRunOptions* options;
  const PlacementRecord* known;  // null: none
  PlacementRecord* record;
  FlopCheck* flop_check;
};

DrawSeeds SeedsOf(const Scenario& scenario, uint32_t draw) {
  return SeedsOfDraw({scenario.first_seed, scenario.simulation.phase_seed, scenario.placement_seed}, scenario.varied,
                     draw);
}

Result<std::unique_ptr<LiveTraffic>> CreateLiveTraffic(const Scenario& scenario, const std::string& policy,
                                                       uint64_t seed, const ScenarioRunOptions& options) {
  return options.live_traffic(
      scenario.fabric, {.policy = policy, .seed = seed, .num_levels = scenario.simulation.controller.num_levels});
}

// Whether there can be what the scenario wants.
Status CheckLiveTraffic(const Scenario& scenario, const ScenarioRunOptions& options) {
  if (!scenario.simulates_agents) return OkStatus();
  FL_RETURN_IF_ERROR(CheckAgents(scenario));
  FL_CHECK_MSG(options.live_traffic, "a scenario with agents needs what simulates them");
  for (const std::string& policy : scenario.policies) {
    FL_RETURN_IF_ERROR(CreateLiveTraffic(scenario, policy, 1, options).status());
  }
  return OkStatus();
}

RunResult RunOnce(const Scenario& scenario, const PlannedRun& run, const RunInputs& inputs,
                  const std::atomic<bool>& stop, const RunWatch::Progress& progress) {
  const std::optional<JobId> explained_job = inputs.options->explained_job;
  const auto begin = std::chrono::steady_clock::now();
  const DrawSeeds seeds = SeedsOf(scenario, run.draw);
  const auto placement = scheduling::CreatePlacementPolicy(scenario.placement, seeds.placement).value();
  const RecalledPlacement recalled(*placement, inputs.known);
  SimulationOptions options = scenario.simulation;
  // Agents decide from a job's start on; until then its flows are hashed.
  const std::string planner = scenario.simulates_agents ? "ecmp" : run.policy;
  const auto policy = traffic::CreatePolicy(planner, scenario.policy_options).value();
  std::unique_ptr<LiveTraffic> live;
  if (scenario.simulates_agents) live = CreateLiveTraffic(scenario, run.policy, seeds.hash, *inputs.options).value();
  options.live = live.get();
  std::optional<RunRecorder> recorder;
  if (inputs.options->recorded && run.draw == scenario.first_draw) {
    options.recorder = &recorder.emplace(*inputs.options->recorded, scenario.fabric);
  }
  std::vector<std::unique_ptr<traffic::TrafficPolicy>> solo_policies;
  std::vector<const traffic::TrafficPolicy*> solo_choices;
  for (const std::string_view name : kSoloPolicies) {
    solo_policies.push_back(traffic::CreatePolicy(name, {}).value());
    solo_choices.push_back(solo_policies.back().get());
  }
  options.controller.hash_seed = seeds.hash;
  options.controller.random_seed = seeds.hash;
  options.controller.placement_observer = [record = inputs.record](JobId job, const model::Placement& where) {
    record->try_emplace(job, where);
  };
  std::unique_ptr<scheduling::DefragmentationPolicy> defragmentation;
  if (!scenario.migration.empty()) {
    defragmentation = scheduling::CreateDefragmentationPolicy(scenario.migration).value();
    options.controller.migration.policy = defragmentation.get();
    options.controller.migration.worker_state = MakeWorkerStates(scenario);
  }
  options.phase_seed = seeds.phase;
  std::unique_ptr<traffic::TrafficPolicy> routing;
  if (!scenario.background.is_empty()) {
    routing = traffic::CreatePolicy(traffic::RoutingOf(run.policy), scenario.policy_options).value();
    options.background = {.spec = scenario.background,
                          .latency = scenario.latency,
                          .forwards_by_rail = scenario.forwards_by_rail,
                          .routing = routing.get()};
  }
  options.routing_costs = traffic::RoutingCostsOf(run.policy, scenario.policy_options);
  std::vector<scheduling::DecisionRecord> decisions;
  std::unique_ptr<scheduling::AllocationPolicy> allocation;
  if (!run.allocation.empty()) {
    allocation = scheduling::CreateAllocationPolicy(
                     run.allocation, seeds.hash, scheduling::SettingsOf(scenario.allocation_settings, run.allocation))
                     .value();
    options.controller.allocation.policy = allocation.get();
    options.controller.allocation.learns_speeds = scenario.learns_speeds;
    if (explained_job)
      options.controller.allocation.observer = scheduling::RecordDecisionsAbout(*explained_job, &decisions);
  }
  std::vector<model::Job> jobs;
  const std::vector<JobId>& absent = inputs.options->absent_jobs;
  for (const ScenarioJob& entry : scenario.jobs) {
    if (std::find(absent.begin(), absent.end(), entry.job.id) == absent.end()) jobs.push_back(entry.job);
  }
  ClusterSimulation simulation(scenario.fabric, recalled, *policy, std::move(solo_choices),
                               inputs.flop_check->Watch(MakeIterationProvider(scenario)), std::move(jobs),
                               scenario.link_events, options);
  RunWatch watch(stop, progress);
  RunResult result = simulation.Run(watch);
  result.policy = run.policy;
  result.draw = run.draw;
  result.seed = seeds.hash;
  result.phase_seed = seeds.phase;
  result.placement_seed = seeds.placement;
  result.decisions = std::move(decisions);
  if (recorder) result.recording = recorder->Take();
  if (!run.allocation.empty()) result.policy = fmt::format("{}+{}", run.allocation, result.policy);
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  result.peak_rss_mb = PeakRssMb();
  return result;
}

FailedRun DescribeFailure(const Scenario& scenario, const PlannedRun& run, const Status& failure,
                          const ScenarioRunOptions& options) {
  FailedRun failed{.policy = run.allocation.empty() ? run.policy : fmt::format("{}+{}", run.allocation, run.policy),
                   .draw = run.draw,
                   .seed = SeedsOf(scenario, run.draw).hash,
                   .message = failure.message(),
                   .reproduce = ""};
  if (options.reproduce) failed.reproduce = options.reproduce(run.policy, run.allocation, run.draw);
  return failed;
}

}  // namespace

Result<SimulationReport> RunScenario(const Scenario& scenario, const ScenarioRunOptions& options,
                                     const std::atomic<bool>& stop, const RunProgress& progress) {
  std::vector<PlannedRun> planned;
  for (const std::string& policy : scenario.policies) {
    if (const auto created = traffic::CreatePolicy(policy, {}); !created.ok()) return created.status();
    if (std::count(scenario.policies.begin(), scenario.policies.end(), policy) > 1) {
      return InvalidArgument(fmt::format("the policy {} appears twice; expected each once", policy));
    }
  }
  if (const Status status = CheckSpeedReports(scenario); !status.ok()) {
    return InvalidArgument(fmt::format("speed_report_s: {}", status.message()));
  }
  if (const Status status = CheckCongestion(scenario); !status.ok()) {
    return InvalidArgument(fmt::format("congestion: {}", status.message()));
  }
  if (const Status status = CheckMigration(scenario); !status.ok()) {
    return InvalidArgument(fmt::format("migration: {}", status.message()));
  }
  if (const Status status = CheckPlacementChoice(scenario); !status.ok()) {
    return InvalidArgument(fmt::format("cassini: {}", status.message()));
  }
  FL_RETURN_IF_ERROR(CheckLiveTraffic(scenario, options));
  for (const std::string& allocation : scenario.allocations) {
    const auto settings = scheduling::SettingsOf(scenario.allocation_settings, allocation);
    const auto created = scheduling::CreateAllocationPolicy(allocation, 1, settings);
    if (!created.ok()) return created.status();
  }
  const std::vector<std::string> fixed = {""};
  for (const std::string& allocation : scenario.allocations.empty() ? fixed : scenario.allocations) {
    for (const std::string& policy : scenario.policies) {
      for (uint32_t i = 0; i < scenario.num_seeds; ++i) {
        planned.push_back({policy, allocation, scenario.first_draw + i});
      }
    }
  }
  std::vector<std::optional<RunResult>> results(planned.size());
  std::vector<PlacementRecord> records(planned.size());
  std::vector<Status> failures(planned.size());
  FlopCheck flop_check(scenario.fabric.gpu_peak());
  SharedProgress shared_progress(planned.size(), progress);
  ParallelFor(planned.size(), options.num_threads, stop, [&](size_t i) {
    const bool is_known = options.known_placements != nullptr && i < options.known_placements->size();
    const RunInputs inputs = {&options, is_known ? &(*options.known_placements)[i] : nullptr, &records[i], &flop_check};
    failures[i] = CatchFailedChecks([&] {
      results[i] =
          RunOnce(scenario, planned[i], inputs, stop, [&](double fraction) { shared_progress.Set(i, fraction); });
    });
    shared_progress.Set(i, 1);
  });

  SimulationReport report;
  report.scenario = scenario.title;
  report.version = kVersion;
  report.num_gpus = scenario.fabric.num_gpus();
  report.fabric_summary = SummarizeFabric(scenario.fabric);
  report.notes = scenario.notes;
  report.varied = scenario.varied.Names();
  report.doubts = flop_check.Describe();
  for (size_t i = 0; i < planned.size(); ++i) {
    if (results[i]) report.runs.push_back(std::move(*results[i]));
    if (failures[i].ok()) continue;
    report.failed_runs.push_back(DescribeFailure(scenario, planned[i], failures[i], options));
    const FailedRun& failed = report.failed_runs.back();
    if (!options.keeps_others)
      return Internal(fmt::format("{}, seed {}: {}", failed.policy, failed.seed, failures[i].message()));
  }
  if (options.placements != nullptr) *options.placements = std::move(records);
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
