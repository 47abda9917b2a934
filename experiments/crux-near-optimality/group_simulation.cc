#include "experiments/crux-near-optimality/group_simulation.h"

#include <array>
#include <atomic>
#include <numeric>

#include "base/check.h"
#include "sim/contention_domain.h"
#include "sim/healthy_fabric.h"
#include "sim/run_watch.h"

namespace fairlead::experiments::crux_near_optimality {
namespace {

double BusySoFar(std::span<sim::JobState* const> jobs) {
  double sum = 0;
  for (const sim::JobState* job : jobs) sum += job->ComputeSeconds() * job->num_gpus;
  return sum;
}

}  // namespace

GroupSimulation::GroupSimulation(const RandomCase& random_case)
    : case_(&random_case),
      capacities_(
          sim::PayloadCapacities(random_case.fabric, topology::LinkHealth(random_case.fabric.num_links(), 1.0), 1.0)),
      sharing_finder_(random_case.fabric.num_links()) {}

GroupSimulation::Group GroupSimulation::MakeGroup(std::span<const uint32_t> members, const PathChoice& choice,
                                                  const Levels& levels) const {
  Group group;
  group.states.reserve(members.size());
  for (const uint32_t j : members) {
    const CaseJob& job = case_->jobs[j];
    group.states.push_back(
        sim::CreateJobState(JobId(j), job.num_gpus, 0, job.iteration, sim::Detail::kCoupled, job.start, 1));
    sim::JobState& state = group.states.back();
    state.paths = case_->PathsOf(choice, j);
    state.level = levels[j];
    group.routes.push_back(sim::ComputeRoutes(state, capacities_));
    group.demands.push_back(sim::ComputeDemand(state, group.routes.back()));
  }
  for (size_t i = 0; i < members.size(); ++i) {
    group.routed.push_back({&group.states[i], &group.routes[i], &group.demands[i]});
  }
  return group;
}

std::vector<std::vector<uint32_t>> GroupSimulation::FindGroups(const PathChoice& choice) {
  std::array<uint32_t, kNumJobs> all{};
  std::iota(all.begin(), all.end(), 0u);
  const Group group = MakeGroup(all, choice, {});
  return sharing_finder_.Find(group.routed, capacities_).domains;
}

double GroupSimulation::BusyGpuSeconds(std::span<const uint32_t> members, const PathChoice& choice,
                                       const Levels& levels) {
  Group group = MakeGroup(members, choice, levels);
  const sim::LinkSharing sharing = sharing_finder_.Find(group.routed, capacities_);
  FL_CHECK(sharing.domains.size() == 1);
  std::vector<sim::JobState*> jobs;
  std::vector<const std::vector<sim::TransferRoute>*> routes;
  for (const sim::RoutedJob& member : group.routed) {
    jobs.push_back(member.job);
    routes.push_back(member.routes);
  }

  const std::array<SimTime, 3> stops = {SimTime(), SimTime::FromSeconds(Seconds(kWarmUpS)),
                                        SimTime::FromSeconds(Seconds(kHorizonS))};
  sim::BinnedSum busy(stops.back(), 1);
  const std::atomic<bool> never = false;
  sim::RunWatch watch(never, nullptr);
  double before = 0;
  for (size_t i = 1; i < stops.size(); ++i) {
    before = BusySoFar(jobs);
    sim::ContentionDomain domain(jobs, routes, sharing, capacities_, stops[i - 1], {.fast_forward = false}, &busy);
    domain.AdvanceTo(stops[i], watch);
    domain.Suspend();
  }
  return BusySoFar(jobs) - before;
}

}  // namespace fairlead::experiments::crux_near_optimality
