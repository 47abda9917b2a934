// One traffic policy and the fabric as it is now: views of jobs in, a checked plan out.
//
//     SetHealth --> health, Router --> TrafficSnapshot --> TrafficPolicy --> TrafficPlan, checked
//     views of jobs --------------------------^
//
// Both cores ask their policy through it: the one of simulations, which has every job before it, and the one of live
// clusters, which knows those that were measured. What a plan changes is theirs to find out.
//
// Guarantees  a plan has one entry for each view, in the same order. The router knows each link that was down when the
//             plan was asked for, however many changes came before; it is told once for all of them.
// Cost        SetHealth O(1); Refresh O(links) after a change, else O(1); Plan: the policy's, with what it remembers of
//             the last plan (traffic/plan_memory.h) unless links have changed since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "topology/fabric.h"
#include "topology/router.h"
#include "traffic/plan_memory.h"
#include "traffic/traffic_policy.h"

namespace fairlead::controller {

struct PlannerOptions {
  uint32_t num_levels = 8;   // that the policy gives out, >= 1
  uint64_t hash_seed = 0;    // of the switches' ECMP hashes
  uint64_t random_seed = 1;  // for policies that sample
  // Parts of a plan are kept for the next one: plans are the same, sooner made, and take memory of the order of all
  // paths.
  bool remembers_plans = true;
};

class PolicyPlanner {
 public:
  // The references must outlive this. All links are healthy.
  PolicyPlanner(const topology::Fabric& fabric, const traffic::TrafficPolicy& policy, PlannerOptions options);

  // Args: health in [0, 1]: the fraction of the link's capacity that is left.
  void SetHealth(LinkId link, double health);
  // Lets the router know of what SetHealth has changed. Returns whether that was anything since the last call.
  bool Refresh();
  // The next plan shall not be told of the links that have changed: nothing ran on them.
  void ForgetChangedLinks() { changed_links_.clear(); }

  // As of the last Refresh.
  const topology::Router& router() const { return router_; }
  const topology::LinkHealth& health() const { return health_; }
  const traffic::PlanMemory& memory() const { return memory_; }

  // What the policy would see. Args: jobs: by id. Valid as long as `jobs`, and until SetHealth or Plan is called.
  traffic::TrafficSnapshot Snapshot(std::span<const traffic::JobView> jobs);
  // Args: a Snapshot() of this planner.
  traffic::TrafficPlan Plan(const traffic::TrafficSnapshot& snapshot);
  // The same for some jobs apart from the others, which stay as they are planned, and are not forgotten.
  traffic::TrafficPlan PlanApart(const traffic::TrafficSnapshot& snapshot);
  // How many placements of an arriving job the policy wants to choose from.
  uint32_t NumPlacements() const { return policy_->NumPlacements(); }
  // Args: jobs: that run, by id; candidates: the arriving job, at least one.
  traffic::PlacementChoice ChoosePlacement(std::span<const traffic::JobView> jobs,
                                           std::span<const traffic::JobView> candidates);
  // How many levels the plan of so many jobs may use.
  uint32_t NumLevels(size_t num_jobs) const { return policy_->NumLevels(options_.num_levels, num_jobs); }

 private:
  traffic::TrafficPlan Checked(traffic::TrafficPlan plan, const traffic::TrafficSnapshot& snapshot);

  const traffic::TrafficPolicy* policy_;
  PlannerOptions options_;
  topology::Router router_;
  topology::LinkHealth health_;
  bool is_all_healthy_ = true;         // as of the last Refresh
  bool is_router_stale_ = false;       // links have another health than at the last Refresh
  std::vector<LinkId> changed_links_;  // since the last plan
  traffic::PlanMemory memory_;         // of plans with this health; empty where plans are not remembered
};

}  // namespace fairlead::controller
