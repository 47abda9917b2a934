// What a policy may keep from one plan to the next, so that planning again costs what has changed.
//
// Problem     at 1,000 jobs on 100,000 GPUs a plan from nothing lists and weighs ten million ways. After one arrival
//             the jobs before the newcomer are where they were, and most of what is known of the others is still true.
// Method      an object of the caller, one for each policy and cluster: parts of a plan with all that they depend on.
//             The next plan takes over what depends on nothing that has changed.
// Guarantees  TrafficPolicy::PlanAgain gives the plan that Plan gives, bit for bit. Jobs that have left are forgotten
//             with the next plan.
// Differs     after a link has failed or come back, or when another router, health or hash seed is seen, all is
//             forgotten.
// Oracle      TrafficPolicy::Plan (plan_memory_test.cc).
#pragma once

#include <cstdint>

#include "topology/router.h"
#include "traffic/meeting_memory.h"
#include "traffic/selection_memory.h"
#include "traffic/traffic_memory.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

// For one policy. Whoever changes the health of a link outside of what TrafficSnapshot::changed_links says to the next
// plan clears it.
class PlanMemory {
 public:
  // For policies, at the begin of each plan: forgets what doesn't hold for this snapshot.
  void Begin(const TrafficSnapshot& snapshot) {
    const bool is_same_world = router_ == snapshot.router && health_ == snapshot.health &&
                               hash_seed_ == snapshot.hash_seed && snapshot.changed_links.empty();
    if (!is_same_world) Clear();
    router_ = snapshot.router;
    health_ = snapshot.health;
    hash_seed_ = snapshot.hash_seed;
    traffic_.Retain(snapshot.jobs);
  }
  void Clear() {
    traffic_.Clear();
    selection_.Clear();
    meetings_.Clear();
  }

  TrafficMemory& traffic() { return traffic_; }
  const TrafficMemory& traffic() const { return traffic_; }
  SelectionMemory& selection() { return selection_; }
  const SelectionMemory& selection() const { return selection_; }
  MeetingMemory& meetings() { return meetings_; }

 private:
  const topology::Router* router_ = nullptr;
  const topology::LinkHealth* health_ = nullptr;
  uint64_t hash_seed_ = 0;
  TrafficMemory traffic_;
  SelectionMemory selection_;
  MeetingMemory meetings_;
};

}  // namespace fairlead::traffic
