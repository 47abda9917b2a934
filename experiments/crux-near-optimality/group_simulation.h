// Simulates the jobs of a case against each other with the simulator's own contention domains: the one place here that
// knows them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "experiments/crux-near-optimality/random_case.h"
#include "sim/job_state.h"
#include "sim/link_sharing.h"

namespace fairlead::experiments::crux_near_optimality {

// Simulated time of one run, and its first part, which does not count.
inline constexpr double kHorizonS = 60;
inline constexpr double kWarmUpS = 10;

class GroupSimulation {
 public:
  // `played` must outlive the simulation.
  explicit GroupSimulation(const RandomCase& random_case);

  // Jobs that can influence each other under these paths; groups by their first job, jobs ascending.
  std::vector<std::vector<uint32_t>> FindGroups(const PathChoice& choice);

  // GPU-seconds of compute that the jobs of one group do between kWarmUpS and kHorizonS. Exact: every event is
  // simulated. Args: `members` are one of FindGroups(choice); levels of other jobs don't matter.
  double BusyGpuSeconds(std::span<const uint32_t> members, const PathChoice& choice, const Levels& levels);

 private:
  // One entry per member.
  struct Group {
    std::vector<sim::JobState> states;
    std::vector<std::vector<sim::TransferRoute>> routes;
    std::vector<std::vector<sim::LinkDemand>> demands;
    std::vector<sim::RoutedJob> routed;  // points into the other two
  };
  Group MakeGroup(std::span<const uint32_t> members, const PathChoice& choice, const Levels& levels) const;

  const RandomCase* case_;
  IdVector<LinkId, double> capacities_;
  sim::LinkSharingFinder sharing_finder_;
};

}  // namespace fairlead::experiments::crux_near_optimality
