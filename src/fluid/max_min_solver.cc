#include "fluid/max_min_solver.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fairlead::fluid {

MaxMinSolver::MaxMinSolver(FlowTable* flows, std::span<const double> capacities)
    : flows_(flows), links_(capacities.size()), crossings_(capacities.size()) {
  for (size_t i = 0; i < capacities.size(); ++i) {
    FL_CHECK_MSG(capacities[i] >= 0 && capacities[i] < kInfinity, "a link's capacity must be finite and not negative");
    links_[i].capacity = links_[i].available = capacities[i];
  }
}

void MaxMinSolver::Touch(uint32_t link) {
  if (links_[link].touched) return;
  links_[link].touched = true;
  touched_.push_back(link);
}

void MaxMinSolver::NoteGroup(uint32_t link) {
  if (links_[link].regrouped) return;
  links_[link].regrouped = true;
  changed_groups_.push_back(link);
}

void MaxMinSolver::PlaceCrossing(uint32_t link, uint32_t position, Crossing crossing) {
  crossings_.data(link)[position] = crossing;
  flows_->position(crossing.use) = position;
}

void MaxMinSolver::Insert(uint32_t id) {
  FlowTable::Flow& flow = flows_->flow(id);
  FL_CHECK(!flow.active);
  flow.active = flow.open = true;
  flow.bottleneck_use = FlowTable::kNoUse;
  ++num_open_;
  for (uint32_t i = flow.first_use; i < flow.first_use + flow.num_uses; ++i) {
    const LinkUse& use = flows_->use(i);
    Link& link = links_[use.link];
    flows_->position(i) = crossings_.size(use.link);
    crossings_.Push(use.link, {id, i});
    link.open_weight += use.multiplicity * flow.weight;
    ++link.num_open;
    Touch(use.link);
  }
}

// Takes the flow of `use` out of the group of the link that bounds it, by swapping it with the group's last.
void MaxMinSolver::LeaveGroup(uint32_t use) {
  const uint32_t link = flows_->use(use).link;
  const uint32_t last = --links_[link].num_own;
  const uint32_t position = flows_->position(use);
  Crossing* list = crossings_.data(link);
  if (position == last) return;
  const Crossing leaving = list[position];
  PlaceCrossing(link, position, list[last]);
  PlaceCrossing(link, last, leaving);
}

void MaxMinSolver::Remove(uint32_t id) {
  FlowTable::Flow& flow = flows_->flow(id);
  FL_CHECK(flow.active);
  double share = 0;
  if (flow.bottleneck_use != FlowTable::kNoUse) {
    share = links_[flows_->use(flow.bottleneck_use).link].share;
    LeaveGroup(flow.bottleneck_use);
    flow.bottleneck_use = FlowTable::kNoUse;
  }
  for (uint32_t i = flow.first_use; i < flow.first_use + flow.num_uses; ++i) {
    const LinkUse& use = flows_->use(i);
    const double weight = use.multiplicity * flow.weight;
    Link& link = links_[use.link];
    if (flow.open) {
      --link.num_open;
      link.open_weight -= weight;
    } else {
      link.available += weight * share;
    }
    const uint32_t last = crossings_.size(use.link) - 1;
    if (const uint32_t position = flows_->position(i); position != last) {
      PlaceCrossing(use.link, position, crossings_.data(use.link)[last]);
    }
    crossings_.Pop(use.link);
    // Where the sums are known exactly, rounding errors end.
    if (last == 0) link.available = link.capacity;
    if (link.num_open == 0) link.open_weight = 0;
    Touch(use.link);
  }
  num_open_ -= flow.open;
  flow.active = flow.open = false;
}

void MaxMinSolver::SetCapacity(uint32_t index, double capacity) {
  FL_CHECK_MSG(capacity >= 0 && capacity < kInfinity, "a link's capacity must be finite and not negative");
  Link& link = links_[index];
  if (capacity == link.capacity) return;
  if (crossings_.empty(index)) {
    link.available = capacity;
  } else {
    link.available += capacity - link.capacity;
    if (capacity < link.capacity) must_drain_ = true;
  }
  link.capacity = capacity;
  Touch(index);
}

double MaxMinSolver::Rate(uint32_t id) const {
  const FlowTable::Flow& flow = flows_->flow(id);
  if (!flow.active) return 0;
  return flow.weight * links_[BottleneckLink(id)].share;
}

uint32_t MaxMinSolver::BottleneckLink(uint32_t id) const {
  const FlowTable::Flow& flow = flows_->flow(id);
  FL_CHECK(flow.bottleneck_use != FlowTable::kNoUse);
  return flows_->use(flow.bottleneck_use).link;
}

void MaxMinSolver::Solve() {
  moved_.clear();
  changed_groups_.clear();
  OpenTouchedGroups();
  QueueTouchedLinks();
  FillQueuedLinks();
  FL_CHECK(num_open_ == 0);
  FinishTouchedLinks();
}

void MaxMinSolver::OpenTouchedGroups() {
  for (; num_groups_opened_ < touched_.size(); ++num_groups_opened_) OpenGroup(touched_[num_groups_opened_]);
}

void MaxMinSolver::OpenGroup(uint32_t index) {
  if (links_[index].opened) return;
  links_[index].opened = true;
  const double share = links_[index].share;
  const uint32_t num_own = links_[index].num_own;
  if (num_own == 0) return;
  NoteGroup(index);
  const Crossing* own = crossings_.data(index);
  for (uint32_t i = 0; i < num_own; ++i) {
    if (i + 4 < num_own) flows_->Prefetch(own[i + 4].flow, own[i + 4].use);
    FlowTable::Flow& flow = flows_->flow(own[i].flow);
    flow.open = true;
    for (const LinkUse& use : flows_->uses(flow)) {
      Link& link = links_[use.link];
      const double weight = use.multiplicity * flow.weight;
      link.available += weight * share;
      link.open_weight += weight;
      ++link.num_open;
      Touch(use.link);
      if (filling_ && link.key >= 0) {
        link.key = kStaleKey;
        lowered_.push_back(use.link);
      }
    }
  }
  num_open_ += num_own;
}

void MaxMinSolver::QueueTouchedLinks() {
  queue_.clear();
  for (uint32_t index : touched_) {
    Link& link = links_[index];
    const bool over_full = link.available < -kTolerance * link.capacity;
    if (link.num_open == 0 && !over_full) continue;
    link.key = link.num_open == 0 ? 0 : OpenShare(link);
    queue_.push_back({link.key, index});
  }
  for (size_t i = queue_.size() / kHeapArity + 1; i-- > 0;) {
    if (i < queue_.size()) SiftDown(i, queue_[i]);
  }
}

// The share at which the link fills up when its open flows, and all others above that share, get just that share.
// Newton's method on a concave piecewise linear function: from below, never past the root, ends after few rounds.
MaxMinSolver::FillPoint MaxMinSolver::FindFillPoint(uint32_t index, double open_share) const {
  const Link& link = links_[index];
  const std::span<const Crossing> all = crossings(index);
  double share = open_share;
  uint32_t num_above = 0;
  while (true) {
    double available = link.available;
    double weight = link.open_weight;
    uint32_t now_above = 0;
    // Its own group comes first in the list, and is open.
    for (size_t i = link.num_own; i < all.size(); ++i) {
      const FlowTable::Flow& flow = flows_->flow(all[i].flow);
      if (flow.open) continue;
      const double other = links_[flows_->use(flow.bottleneck_use).link].share;
      if (!Above(other, share)) continue;
      const double use_weight = flows_->use(all[i].use).multiplicity * flow.weight;
      available += use_weight * other;
      weight += use_weight;
      ++now_above;
    }
    const double next = link.capacity == 0 ? 0 : std::max(0.0, available) / weight;
    // It rises as long as flows are left behind. Where rounding makes it fall instead, it has arrived.
    if (now_above == num_above || next <= share) return {share, now_above};
    num_above = now_above;
    share = next;
  }
}

// Opens the groups of the flows on this link that are above `share`, and everything that they touch.
void MaxMinSolver::OpenFlowsAbove(uint32_t index, double share) {
  for (uint32_t i = 0; i < crossings_.size(index); ++i) {
    const FlowTable::Flow& flow = flows_->flow(crossings_.data(index)[i].flow);
    if (flow.open) continue;
    const uint32_t other = flows_->use(flow.bottleneck_use).link;
    if (Above(links_[other].share, share)) {
      Touch(other);
      OpenGroup(other);
    }
  }
  OpenTouchedGroups();
  // Their links may fill up earlier than their keys say.
  for (uint32_t changed : lowered_) {
    Link& link = links_[changed];
    link.key = OpenShare(link);
    PushCandidate({link.key, changed});
  }
  lowered_.clear();
}

void MaxMinSolver::FreezeFlow(FlowTable::Flow& flow, double share) {
  flow.open = false;
  for (const LinkUse& use : flows_->uses(flow)) {
    Link& link = links_[use.link];
    const double weight = use.multiplicity * flow.weight;
    link.available -= weight * share;
    link.open_weight -= weight;
    --link.num_open;
  }
}

void MaxMinSolver::Freeze(uint32_t index, double share) {
  Link& link = links_[index];
  Crossing* list = crossings_.data(index);
  num_open_ -= link.num_open;
  for (uint32_t i = 0; i < link.num_own; ++i) FreezeFlow(flows_->flow(list[i].flow), share);
  for (uint32_t i = link.num_own; link.num_open > 0; ++i) {
    FlowTable::Flow& flow = flows_->flow(list[i].flow);
    if (!flow.open) continue;
    const Crossing joining = list[i];
    if (flow.bottleneck_use != FlowTable::kNoUse) LeaveGroup(flow.bottleneck_use);
    flow.bottleneck_use = joining.use;
    if (i != link.num_own) {
      PlaceCrossing(index, i, list[link.num_own]);
      PlaceCrossing(index, link.num_own, joining);
    }
    ++link.num_own;
    moved_.push_back(joining.flow);
    FreezeFlow(flow, share);
  }
  // Exactly so, which ends the rounding errors of what was added and taken since.
  link.available = 0;
  link.open_weight = 0;
  link.share = share;
  link.opened = true;
  NoteGroup(index);
}

void MaxMinSolver::FillQueuedLinks() {
  filling_ = true;
  size_t rounds_left = 1000 * (links_.size() + flows_->num_flows());
  while (!queue_.empty() && (num_open_ > 0 || must_drain_)) {
    FL_CHECK_MSG(rounds_left-- > 0, "the water-filling does not end");
    const auto [key, index] = queue_.front();
    const Link& link = links_[index];
    if (key != link.key || (link.num_open == 0 && link.available >= -kTolerance * link.capacity)) {
      PopTop();
      continue;
    }
    double share = OpenShare(link);
    if (Above(share, key)) {
      links_[index].key = share;
      SiftDown(0, {share, index});
      continue;
    }
    // No flow of a link is above its share, so where that does not sink no other flow has to.
    if (share < link.share) {
      const FillPoint fill = FindFillPoint(index, share);
      if (Above(fill.share, key)) {
        must_drain_ = true;
        links_[index].key = fill.share;
        SiftDown(0, {fill.share, index});
        continue;
      }
      if (fill.num_above > 0) {
        OpenFlowsAbove(index, fill.share);
        share = OpenShare(link);
      }
    }
    Freeze(index, share);
  }
  filling_ = false;
}

void MaxMinSolver::FinishTouchedLinks() {
  for (uint32_t index : touched_) {
    Link& link = links_[index];
    if (link.num_own == 0) link.share = kInfinity;
    link.open_weight = 0;
    link.key = kInfinity;
    link.touched = link.opened = link.regrouped = false;
  }
  changed_.swap(touched_);
  touched_.clear();
  num_groups_opened_ = 0;
  must_drain_ = false;
}

void MaxMinSolver::PushCandidate(Candidate candidate) {
  queue_.push_back(candidate);
  size_t at = queue_.size() - 1;
  while (at > 0) {
    const size_t parent = (at - 1) / kHeapArity;
    if (queue_[parent].key <= candidate.key) break;
    queue_[at] = queue_[parent];
    at = parent;
  }
  queue_[at] = candidate;
}

void MaxMinSolver::SiftDown(size_t at, Candidate candidate) {
  Candidate* const queue = queue_.data();
  const size_t size = queue_.size();
  while (true) {
    const size_t first = kHeapArity * at + 1;
    if (first >= size) break;
    size_t least = first;
    if (first + kHeapArity <= size) {
      // A tournament instead of a loop: two compares side by side, and no branch to guess wrong.
      const size_t left = first + (queue[first + 1].key < queue[first].key);
      const size_t right = first + 2 + (queue[first + 3].key < queue[first + 2].key);
      least = queue[right].key < queue[left].key ? right : left;
    } else {
      for (size_t child = first + 1; child < size; ++child) {
        if (queue[child].key < queue[least].key) least = child;
      }
    }
    if (queue[least].key >= candidate.key) break;
    queue[at] = queue[least];
    at = least;
  }
  queue[at] = candidate;
}

void MaxMinSolver::PopTop() {
  const Candidate last = queue_.back();
  queue_.pop_back();
  if (!queue_.empty()) SiftDown(0, last);
}

}  // namespace fairlead::fluid
