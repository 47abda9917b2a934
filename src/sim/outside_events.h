// What comes to a simulation from outside, by time: jobs that arrive, links that change, and ends of jobs that hold
// their GPUs for a time that they brought along.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"

namespace fairlead::sim {

// The health of a link changes at an instant.
struct LinkEvent {
  SimTime time;
  LinkId link;
  double health = 1;  // fraction of the capacity that is left; 0 = down
};

class OutsideEvents {
 public:
  using Instant = std::pair<SimTime, JobId>;

  // Args: arrivals: in any order; those of one instant come by id. link_events: in any order; those of one instant come
  // as they are given.
  OutsideEvents(std::vector<Instant> arrivals, std::vector<LinkEvent> link_events);

  // Never(): nothing comes any more. Cost: O(1).
  SimTime Next() const;
  bool has_arrivals() const { return next_arrival_ < arrivals_.size(); }

  // Those up to `now` that were not taken before.
  std::span<const Instant> TakeArrivals(SimTime now);
  std::span<const LinkEvent> TakeLinkEvents(SimTime now);
  // By time, then by id.
  std::vector<JobId> TakeHoldEnds(SimTime now);

  // Cost: O(log(ends)).
  void AddHoldEnd(SimTime end, JobId job) { hold_ends_.emplace(end, job); }
  // Where it was taken, or there is none, nothing changes.
  void RemoveHoldEnd(SimTime end, JobId job) { hold_ends_.erase({end, job}); }

 private:
  std::vector<Instant> arrivals_;  // ascending
  size_t next_arrival_ = 0;
  std::vector<LinkEvent> link_events_;  // by time
  size_t next_link_event_ = 0;
  std::set<Instant> hold_ends_;
};

}  // namespace fairlead::sim
