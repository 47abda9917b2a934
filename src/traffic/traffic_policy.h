// The interface of traffic policies: which path each flow takes, and which job goes first where they meet.
//
// A policy is a pure function from an immutable snapshot of the cluster to a plan. The same object serves the
// simulator, the emulated fabric and a real cluster. Everything a plan does, it explains.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"
#include "model/flow.h"
#include "model/path.h"
#include "topology/router.h"
#include "traffic/placement_choice.h"
#include "traffic/sender_rules.h"
#include "traffic/time_shift.h"

namespace fairlead::traffic {

// A running job as a policy sees it.
struct JobView {
  JobId id;
  uint32_t num_gpus = 0;
  uint64_t arrival_order = 0;                   // 0 = came first
  const model::Iteration* iteration = nullptr;  // not null
  // Paths in force, [flow of the iteration]; empty for a job that just arrived.
  std::span<const model::Path> paths;
  uint32_t level = 0;  // level in force; meaningless when paths is empty
  // How fast it ran lately, as a fraction of its speed alone; 1 where not measured.
  double relative_speed = 1;
  // By how much ln(priority) may be off: priorities of two jobs differ for certain when their logarithms differ by more
  // than both together (square root of the sum of squares). 0 where nothing is measured.
  double priority_uncertainty = 0;
  // The length of an iteration is unknown: its numbers are those of a long stretch, for which the intensity is correct.
  bool is_period_known = true;
  // How far it is behind kStarvedBelow of its speed alone: the time that the progress it lacks takes at that speed. A
  // stalled job falls behind by a second a second; one that runs alone catches up nine seconds a second. 0 when it is
  // not behind; 0 where not measured.
  Seconds starved_for;
};

// A job slower than this fraction of its speed alone is starved (Crux section 7.2: the guard's threshold).
inline constexpr double kStarvedBelow = 0.1;

// How often speeds are measured for policies that need them, unless set otherwise.
inline constexpr SimDuration kSpeedReportInterval(10'000'000'000);

// All a policy may look at. Jobs are sorted by id.
struct TrafficSnapshot {
  const topology::Router* router = nullptr;      // not null; knows the links that are down
  const topology::LinkHealth* health = nullptr;  // null = all links healthy
  std::span<const JobView> jobs;
  uint32_t num_levels = 8;   // hardware priority levels, >= 1
  uint64_t hash_seed = 0;    // what the switches' ECMP hashes are seeded with
  uint64_t random_seed = 0;  // for policies that sample
  // Links with another health than at the last plan.
  std::span<const LinkId> changed_links = {};

  // Capacity that is left of a link.
  BytesPerSecond CapacityOf(LinkId link) const {
    return router->fabric().capacity(link) * (health == nullptr ? 1.0 : (*health)[link]);
  }
};

// What one job gets, and why.
struct JobPlan {
  JobId id;
  std::vector<model::Path> paths;  // [flow of the iteration]; an empty path = cut off by failures
  uint32_t level = 0;              // 0 = most important, < the policy's NumLevels
  // Place in the ideal total order before compression, 0 = most important; equals level where the policy has no such
  // order.
  uint32_t priority_rank = 0;
  FlopPerSecond priority = FlopPerSecond(0);  // what the order is by; 0 where the policy has none
  std::optional<TimeShift> time_shift;        // nothing: iterations follow one another at once
  // The queue pairs of a connection shift bytes among themselves, from those with slow messages to the others.
  bool balances_shares = false;
  SenderRules senders = {};
  // For people and for `explain`: "intensity 3.1e+15 FLOP/s, correction factor 1.2; level 0 of 3: …".
  std::string reason;
};

// Plans of all jobs of the snapshot, in the snapshot's order.
struct TrafficPlan {
  std::vector<JobPlan> jobs;
};

class PlanMemory;  // plan_memory.h

class TrafficPolicy {
 public:
  virtual ~TrafficPolicy() = default;
  // The name users type: "ecmp", "crux".
  virtual std::string_view name() const = 0;
  // A path and a level for every job of the snapshot. Pure: the same snapshot gives the same plan.
  virtual TrafficPlan Plan(const TrafficSnapshot& snapshot) const = 0;
  // The same plan, in less time where the memory holds parts of the last one that are still true. Args: memory: only
  // ever used with this policy, not null. A policy that remembers nothing leaves it alone.
  virtual TrafficPlan PlanAgain(const TrafficSnapshot& snapshot, PlanMemory* memory) const {
    static_cast<void>(memory);
    return Plan(snapshot);
  }
  // How many levels the plan of num_jobs jobs may use on a fabric that offers hardware_levels. More than the fabric has
  // only where a policy exists to show what a fabric without that limit would do.
  virtual uint32_t NumLevels(uint32_t hardware_levels, size_t num_jobs) const {
    static_cast<void>(num_jobs);
    return hardware_levels;
  }
  // Plans depend on JobView::relative_speed and starved_for. A caller that runs such a policy measures both and
  // requests a new plan at every measurement, each kSpeedReportInterval or as set, or refuses the policy: without them
  // it would silently be another one.
  virtual bool NeedsSpeeds() const { return false; }
  // How many placements of an arriving job that are as good to the placement policy it wants to choose from; 1: it
  // leaves places alone. A caller that places jobs offers so many, or refuses the policy.
  virtual uint32_t NumPlacements() const { return 1; }
  // Args: snapshot: of the jobs that run; candidates: the arriving job, none of the snapshot's, at each of its places,
  // without paths in force; at least one. Pure.
  virtual PlacementChoice ChoosePlacement(const TrafficSnapshot& snapshot, std::span<const JobView> candidates) const {
    static_cast<void>(snapshot);
    static_cast<void>(candidates);
    return {};
  }
};

}  // namespace fairlead::traffic
