// Which flows finish next, when the rates of whole groups of flows keep changing?
//
// Flows bounded by the same link have the same normalized rate, so they share a clock of normalized work: it advances
// by share * dt. A flow that joins with w bytes per unit of weight to go gets the tag clock + w and ends when the clock
// reaches it, whatever the share does in between. A change of rate therefore costs O(1) for a group, not a queue update
// for each flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/sim_time.h"
#include "fluid/block_minimum.h"
#include "fluid/pooled_lists.h"

namespace fairlead::fluid {

// Groups and flows are dense indices. "Work" is bytes divided by the flow's weight.
class CompletionQueue {
 public:
  static constexpr uint32_t kNoGroup = UINT32_MAX;

  void ResizeGroups(size_t num_groups);
  void ResizeFlows(size_t num_flows);
  void ReserveFlows(size_t num_flows) { members_.reserve(num_flows); }

  // Gives a flow its work (>= 0), outside of any group: it doesn't run.
  void SetWork(uint32_t flow, double work);
  // Work that is left at `now`.
  double Work(uint32_t flow, SimTime now) const;
  // Seconds from `now` until the flow ends at the present share of its group; infinite when it has none, or a share of 0.
  double SecondsLeft(uint32_t flow, SimTime now) const {
    const Member& member = members_[flow];
    if (member.group == kNoGroup || groups_[member.group].share <= 0) return std::numeric_limits<double>::infinity();
    const Group& group = groups_[member.group];
    return std::max(0.0, member.tag - ClockAt(group, now)) / group.share;
  }

  // Moves the flow to another group. Both groups' clocks must be at `now` (SetShare).
  void Move(uint32_t flow, uint32_t group, SimTime now);
  // Takes the flow out of its group, if it has one; its work stays.
  void Drop(uint32_t flow, SimTime now);
  // Brings the group's clock to `now`; from now on it advances by `share` (>= 0, finite) per second.
  void SetShare(uint32_t index, double share, SimTime now);
  // Puts a flow without a group into one with an unchanged share, and recomputes when that group's next flow ends.
  void Rejoin(uint32_t flow, uint32_t group, SimTime now);
  // Recomputes when the group's next flow ends, after SetShare and Move.
  void Refresh(uint32_t index, SimTime now);

  // When the next flow ends; Never() when none does. Never before the `now` of the last refresh.
  SimTime Next();
  // Takes out the flows that end at `now` == Next(), in no particular order; calls done(flow) for each.
  template <class Done>
  void TakeDue(SimTime now, Done done);

 private:
  struct Group {
    double clock = 0;  // normalized work
    double share = 0;
    int64_t clock_ns = 0;  // time of `clock`
  };
  struct Member {
    double tag = 0;  // clock of the group at which the flow ends; its work when it has no group
    uint32_t group = kNoGroup;
    uint32_t position = 0;  // in the group's heap
  };

  double ClockAt(const Group& group, SimTime now) const {
    return group.clock + group.share * (static_cast<double>(now.ns() - group.clock_ns) * 1e-9);
  }
  void Rebase(uint32_t index);
  void Leave(uint32_t flow);
  void Join(uint32_t flow, uint32_t group);
  void SiftUp(uint32_t group, uint32_t position, uint32_t flow);
  void SiftDown(uint32_t group, uint32_t position, uint32_t flow);

  std::vector<Group> groups_;
  std::vector<Member> members_;
  PooledLists<uint32_t> heaps_;  // [group] flows, least tag first
  BlockMinimum finish_ns_;       // [group]
  std::vector<uint32_t> due_groups_;
};

template <class Done>
void CompletionQueue::TakeDue(SimTime now, Done done) {
  due_groups_.clear();
  finish_ns_.CollectUpTo(now.ns(), &due_groups_);
  for (const uint32_t group : due_groups_) {
    // Flows of one group that round to the same nanosecond end together; but work never ends at the instant it starts.
    const double rounding = groups_[group].clock_ns == now.ns() ? 0 : groups_[group].share * 0.5e-9;
    const double due = ClockAt(groups_[group], now) + rounding;
    do {
      const uint32_t flow = heaps_.data(group)[0];
      Leave(flow);
      members_[flow].tag = 0;
      done(flow);
    } while (!heaps_.empty(group) && members_[heaps_.data(group)[0]].tag <= due);
    finish_ns_.Set(group, BlockMinimum::kNever);
  }
}

}  // namespace fairlead::fluid
