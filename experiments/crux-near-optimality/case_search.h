// The optimum of a case by enumeration: one aggregation switch per job (2^5 choices) times one level per job (3^5).
//
// Method      utilization is a sum over groups of jobs that share contended links: the result of a group depends only
//             on its own paths and the order of its own levels. So each group is simulated once for each order with at
//             most three classes, whatever the other jobs do, and the 7,776 plans are sums of remembered numbers. The
//             two aggregation switches are alike: paths that are mirror images share their numbers.
// Cost        at most sum over subsets S of jobs of (orders of S with <= 3 classes) = 601 simulations when only uplinks
//             are contended.
// Guarantees  exact: the same number that a simulation of all five jobs together gives (tested).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "experiments/crux-near-optimality/group_simulation.h"
#include "experiments/crux-near-optimality/random_case.h"

namespace fairlead::experiments::crux_near_optimality {

// Utilizations that differ by less, relatively, are equal.
inline constexpr double kTie = 1e-9;

class CaseSearch {
 public:
  // `searched` must outlive the search.
  explicit CaseSearch(const RandomCase& searched);

  // Path choices that differ, in lexicographic order; mirror images count once, and jobs without a choice have 0.
  const std::vector<PathChoice>& choices() const { return choices_; }
  // All level vectors, in lexicographic order.
  static const std::vector<Levels>& AllLevels();

  // Busy fraction of all GPUs that jobs hold, between kWarmUpS and kHorizonS.
  double Utilization(const PathChoice& choice, const Levels& levels);
  // The same for all level vectors, [index in AllLevels()].
  std::span<const double> Utilizations(const PathChoice& choice);

  size_t num_simulations() const { return num_simulations_; }

 private:
  // Group as a bit mask; paths of its jobs, mirrored so that the first choice is 0; dense levels of its jobs.
  using Key = std::tuple<uint32_t, PathChoice, Levels>;

  const std::vector<std::vector<uint32_t>>& GroupsOf(const PathChoice& choice);
  double Simulate(const PathChoice& choice, const Levels& levels);
  double BusyOf(const std::vector<uint32_t>& group, const PathChoice& choice, const Levels& levels);

  const RandomCase* searched_;
  GroupSimulation simulation_;
  std::vector<PathChoice> choices_;
  double held_gpu_seconds_ = 0;
  std::map<PathChoice, std::vector<std::vector<uint32_t>>> groups_;
  std::map<Key, double> busy_;
  std::map<PathChoice, std::vector<double>> utilizations_;
  size_t num_simulations_ = 0;
};

}  // namespace fairlead::experiments::crux_near_optimality
