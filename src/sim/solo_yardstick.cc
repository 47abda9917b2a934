#include "sim/solo_yardstick.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "base/check.h"
#include "sim/contention_domain.h"
#include "sim/run_watch.h"
#include "sim/timeline.h"
#include "traffic/path_bundle.h"

namespace fairlead::sim {

namespace {

// A phase is not faster for the rounding of its end to the nanosecond.
constexpr int64_t kRoundingNs = 2;
constexpr double kEqualTimes = 1e-9;

bool HasAllPaths(const std::vector<model::Path>& paths) {
  return std::none_of(paths.begin(), paths.end(), [](const model::Path& path) { return path.empty(); });
}

// Along the longest path through compute and phases.
int64_t IterationNs(const model::Iteration& iteration, Detail detail, const SoloReference& reference) {
  JobState job = CreateJobState(JobId(0), 1, 1, iteration, detail, SimTime(), 1);
  job.solo = reference;
  return job.SoloNsLeft(SimTime());
}

}  // namespace

SoloReference SimulateAlone(const model::Iteration& iteration, const std::vector<model::Path>& paths,
                            const IdVector<LinkId, double>& capacities, Detail detail, LinkSharingFinder& finder) {
  JobState job = CreateJobState(JobId(0), 1, 1, iteration, detail, SimTime(), 1);
  job.paths = paths;
  const std::vector<TransferRoute> routes = ComputeRoutes(job, capacities);
  const std::vector<LinkDemand> demand = ComputeDemand(job, routes);
  const RoutedJob routed{&job, &routes, &demand};
  const LinkSharing sharing = finder.Find(std::span(&routed, 1), capacities);
  BinnedSum busy(SimTime(1), 1);
  ContentionDomain domain({&job}, {&routes}, sharing, capacities, SimTime(), {.fast_forward = false}, &busy);
  const std::atomic<bool> never = false;
  RunWatch watch(never, nullptr);
  domain.AdvanceTo(SimTime::Never(), watch);
  FL_CHECK_MSG(job.is_finished, "a job can't finish an iteration alone on a healthy fabric");
  return {.phase_ns = job.phase_took_ns, .iteration_ns = (job.finish_time - SimTime()).ns()};
}

SoloYardstick::SoloYardstick(const topology::Router& router, std::vector<const traffic::TrafficPolicy*> policies,
                             const IdVector<LinkId, double>& capacities, const Options& options)
    : router_(&router),
      policies_(std::move(policies)),
      capacities_(&capacities),
      options_(options),
      finder_(router.fabric().num_links()),
      phase_bytes_(router.fabric().num_links()) {
  FL_CHECK(!policies_.empty());
}

SoloReference SoloYardstick::Find(JobId job, const model::Iteration& iteration, uint32_t num_gpus) {
  traffic::JobView view;
  view.id = job;
  view.num_gpus = num_gpus;
  view.iteration = &iteration;
  const traffic::TrafficSnapshot snapshot{.router = router_,
                                          .jobs = std::span(&view, 1),
                                          .num_levels = options_.num_levels,
                                          .hash_seed = options_.hash_seed,
                                          .random_seed = 0};
  SoloReference reference;
  for (const traffic::TrafficPolicy* policy : policies_) {
    const traffic::TrafficPlan plan = policy->Plan(snapshot);
    const std::vector<model::Path>& paths = plan.jobs.front().paths;
    if (reference.iteration_ns == 0) {
      reference = SimulateAlone(iteration, paths, *capacities_, options_.detail, finder_);
    } else {
      Lower(iteration, paths, &reference);
    }
  }
  return reference;
}

bool SoloYardstick::Lower(const model::Iteration& iteration, const std::vector<model::Path>& paths,
                          SoloReference* reference) {
  if (!HasAllPaths(paths) || !MayBeFaster(iteration, paths, *reference)) return false;
  const SoloReference other = SimulateAlone(iteration, paths, *capacities_, options_.detail, finder_);
  bool is_faster = false;
  for (size_t p = 0; p < other.phase_ns.size(); ++p) {
    if (other.phase_ns[p] + kRoundingNs >= reference->phase_ns[p]) continue;
    reference->phase_ns[p] = other.phase_ns[p];
    is_faster = true;
  }
  if (is_faster) reference->iteration_ns = IterationNs(iteration, options_.detail, *reference);
  return is_faster;
}

// No phase is faster than its fullest link.
bool SoloYardstick::MayBeFaster(const model::Iteration& iteration, const std::vector<model::Path>& paths,
                                const SoloReference& reference) {
  for (size_t p = 0; p < iteration.phases.size(); ++p) {
    const model::CommunicationPhase& phase = iteration.phases[p];
    double longest_s = 0;
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      const double bytes = iteration.flows[f].bytes.value() / traffic::NumParts(paths[f]);
      for (const LinkId link : paths[f]) {
        phase_bytes_[link] += bytes;
        longest_s = std::max(longest_s, phase_bytes_[link] / (*capacities_)[link]);
      }
    }
    for (uint32_t f = phase.first_flow; f < phase.first_flow + phase.num_flows; ++f) {
      for (const LinkId link : paths[f]) phase_bytes_[link] = 0;
    }
    longest_s += phase.latency.value();
    if (longest_s * 1e9 * (1 + kEqualTimes) + kRoundingNs < static_cast<double>(reference.phase_ns[p])) return true;
  }
  return false;
}

}  // namespace fairlead::sim
