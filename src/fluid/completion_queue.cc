#include "fluid/completion_queue.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fairlead::fluid {
namespace {

// Beyond this a clock starts again from zero, so that tags keep a resolution of about 1e-4 bytes.
constexpr double kClockLimit = 1e12;
// Completions later than this (146 years) never happen: a rate that is next to nothing.
constexpr double kLongestNs = 4.6e18;

// To the nearest, halves upwards, as std::llround does for x >= 0, which is a call.
int64_t RoundNs(double x) {
  const auto below = static_cast<int64_t>(x);
  return below + (x - static_cast<double>(below) >= 0.5);
}

}  // namespace

void CompletionQueue::ResizeGroups(size_t num_groups) {
  groups_.resize(num_groups);
  heaps_.Resize(num_groups);
  finish_ns_.Resize(num_groups);
}

void CompletionQueue::ResizeFlows(size_t num_flows) { members_.resize(num_flows); }

void CompletionQueue::SetWork(uint32_t flow, double work) {
  FL_CHECK(members_[flow].group == kNoGroup);
  members_[flow].tag = work;
}

double CompletionQueue::Work(uint32_t flow, SimTime now) const {
  const Member& member = members_[flow];
  if (member.group == kNoGroup) return member.tag;
  return std::max(0.0, member.tag - ClockAt(groups_[member.group], now));
}

void CompletionQueue::Drop(uint32_t flow, SimTime now) {
  const uint32_t group = members_[flow].group;
  if (group == kNoGroup) return;
  const double work = Work(flow, now);
  Leave(flow);
  members_[flow].tag = work;
  if (heaps_.empty(group)) finish_ns_.Set(group, BlockMinimum::kNever);
}

void CompletionQueue::Move(uint32_t flow, uint32_t group, SimTime now) {
  FL_DCHECK(groups_[group].clock_ns == now.ns());
  Member& member = members_[flow];
  if (member.group != kNoGroup) {
    const double work = Work(flow, now);
    Leave(flow);
    member.tag = work;
  }
  member.tag += groups_[group].clock;
  Join(flow, group);
}

void CompletionQueue::SetShare(uint32_t index, double share, SimTime now) {
  Group& group = groups_[index];
  group.clock = heaps_.empty(index) ? 0 : ClockAt(group, now);
  group.clock_ns = now.ns();
  group.share = share;
  if (group.clock > kClockLimit) Rebase(index);
}

void CompletionQueue::Rejoin(uint32_t flow, uint32_t group, SimTime now) {
  SetShare(group, groups_[group].share, now);
  Move(flow, group, now);
  Refresh(group, now);
}

void CompletionQueue::Rebase(uint32_t index) {
  const uint32_t* heap = heaps_.data(index);
  for (uint32_t i = 0; i < heaps_.size(index); ++i) members_[heap[i]].tag -= groups_[index].clock;
  groups_[index].clock = 0;
}

void CompletionQueue::Refresh(uint32_t index, SimTime now) {
  int64_t finish_ns = BlockMinimum::kNever;
  if (!heaps_.empty(index)) {
    const Group& group = groups_[index];
    FL_DCHECK(group.clock_ns == now.ns());
    const double work = members_[heaps_.data(index)[0]].tag - group.clock;
    if (work <= 0) {
      finish_ns = now.ns();
    } else if (const double ns = work * 1e9 / group.share; ns < kLongestNs) {
      // Work takes time, or a burst of tiny flows could start and end without end at one instant.
      finish_ns = now.ns() + std::max<int64_t>(1, RoundNs(ns));
    }
  }
  finish_ns_.Set(index, finish_ns);
}

SimTime CompletionQueue::Next() { return SimTime(finish_ns_.Min()); }

void CompletionQueue::Leave(uint32_t flow) {
  Member& member = members_[flow];
  const uint32_t group = member.group;
  const uint32_t position = member.position;
  const uint32_t last = heaps_.data(group)[heaps_.size(group) - 1];
  heaps_.Pop(group);
  member.group = kNoGroup;
  if (last == flow) return;
  if (position > 0 && members_[heaps_.data(group)[(position - 1) / 2]].tag > members_[last].tag) {
    SiftUp(group, position, last);
  } else {
    SiftDown(group, position, last);
  }
}

void CompletionQueue::Join(uint32_t flow, uint32_t group) {
  members_[flow].group = group;
  heaps_.Push(group, flow);
  SiftUp(group, heaps_.size(group) - 1, flow);
}

void CompletionQueue::SiftUp(uint32_t group, uint32_t position, uint32_t flow) {
  uint32_t* heap = heaps_.data(group);
  const double tag = members_[flow].tag;
  while (position > 0) {
    const uint32_t parent = (position - 1) / 2;
    if (members_[heap[parent]].tag <= tag) break;
    heap[position] = heap[parent];
    members_[heap[position]].position = position;
    position = parent;
  }
  heap[position] = flow;
  members_[flow].position = position;
}

void CompletionQueue::SiftDown(uint32_t group, uint32_t position, uint32_t flow) {
  uint32_t* heap = heaps_.data(group);
  const uint32_t size = heaps_.size(group);
  const double tag = members_[flow].tag;
  while (true) {
    uint32_t child = 2 * position + 1;
    if (child >= size) break;
    if (child + 1 < size && members_[heap[child + 1]].tag < members_[heap[child]].tag) ++child;
    if (members_[heap[child]].tag >= tag) break;
    heap[position] = heap[child];
    members_[heap[position]].position = position;
    position = child;
  }
  heap[position] = flow;
  members_[flow].position = position;
}

}  // namespace fairlead::fluid
