#include "scheduling/monkey_tree/monkey_tree.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fairlead::scheduling::monkey_tree {
namespace {

constexpr uint32_t kMostSteps = 64;

uint32_t Sum(const RackBlocks& blocks) { return std::accumulate(blocks.begin(), blocks.end(), 0u); }

// All blocks of `segment` in `from` go to `to`; `partner`, if any, gives up `num_back` of its blocks there for them.
struct Step {
  uint32_t segment = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  std::optional<uint32_t> partner;
  uint32_t num_back = 0;
};

// A placement of the segments that is improved step by step.
class Arrangement {
 public:
  explicit Arrangement(const RackView& racks) : racks_(racks) {
    free_ = racks.capacity;
    for (const Segment& segment : racks.segments) {
      where_.push_back(segment.blocks);
      for (size_t t = 0; t < free_.size(); ++t) {
        FL_CHECK_MSG(segment.blocks[t] <= free_[t], "segments have more blocks than their racks");
        free_[t] -= segment.blocks[t];
      }
    }
    loads_ = RackLoads(racks.segments, where_);
  }

  const std::vector<RackBlocks>& where() const { return where_; }
  uint64_t excess() const {
    uint64_t excess = 0;
    for (const uint32_t load : loads_) excess += load - std::min(load, racks_.max_rings);
    return excess;
  }

  // The step with the fewest blocks that lowers the excess; among equals the one that lowers it most, then the first.
  std::optional<Step> FindStep() {
    std::optional<Step> best;
    auto best_rank = std::pair<uint32_t, uint64_t>(~0u, excess());
    const uint64_t now = excess();
    const auto consider = [&](const Step& step) {
      const uint32_t cost = where_[step.segment][step.from] + step.num_back;
      if (cost > best_rank.first) return;
      Apply(step);
      const uint64_t after = excess();
      Revert(step);
      if (after >= now || std::pair(cost, after) >= best_rank) return;
      best_rank = {cost, after};
      best = step;
    };
    for (uint32_t s = 0; s < where_.size(); ++s) {
      if (!IsInFullRack(s)) continue;
      for (uint32_t from = 0; from < free_.size(); ++from) {
        if (where_[s][from] == 0) continue;
        for (uint32_t to = 0; to < free_.size(); ++to) {
          if (to != from) ForEachStep(s, from, to, consider);
        }
      }
    }
    return best;
  }

  void Apply(const Step& step) {
    num_moved_.push_back(where_[step.segment][step.from]);
    Shift(step.segment, step.from, step.to, num_moved_.back());
    if (step.partner) Shift(*step.partner, step.to, step.from, step.num_back);
  }

 private:
  // Of the last Apply(), which must be this one.
  void Revert(const Step& step) {
    if (step.partner) Shift(*step.partner, step.from, step.to, step.num_back);
    Shift(step.segment, step.to, step.from, num_moved_.back());
    num_moved_.pop_back();
  }

  // It counts in a rack that has too many rings.
  bool IsInFullRack(uint32_t s) const {
    if (!IsTorn(where_[s])) return false;
    for (size_t t = 0; t < loads_.size(); ++t) {
      if (where_[s][t] > 0 && loads_[t] > racks_.max_rings) return true;
    }
    return false;
  }

  template <class Consider>
  void ForEachStep(uint32_t s, uint32_t from, uint32_t to, const Consider& consider) {
    const uint32_t moved = where_[s][from];
    if (moved <= free_[to]) return consider(Step{s, from, to, std::nullopt, 0});
    const uint32_t missing = moved - free_[to];
    for (uint32_t partner = 0; partner < where_.size(); ++partner) {
      const uint32_t there = where_[partner][to];
      if (partner == s || there < missing) continue;
      consider(Step{s, from, to, partner, missing});
      // Room for all of the partner: it then leaves the rack for good.
      if (there > missing && there <= moved + free_[from]) consider(Step{s, from, to, partner, there});
    }
  }

  // Free blocks may be overdrawn between the two halves of an exchange.
  void Shift(uint32_t s, uint32_t from, uint32_t to, uint32_t num_blocks) {
    AddLoad(s, -1);
    where_[s][from] -= num_blocks;
    where_[s][to] += num_blocks;
    free_[from] += num_blocks;
    free_[to] -= num_blocks;
    AddLoad(s, 1);
  }

  void AddLoad(uint32_t s, int sign) {
    if (!IsTorn(where_[s])) return;
    const uint32_t rings = racks_.segments[s].num_rings;
    for (size_t t = 0; t < loads_.size(); ++t) {
      if (where_[s][t] > 0) loads_[t] += sign > 0 ? rings : 0 - rings;
    }
  }

  const RackView& racks_;
  std::vector<RackBlocks> where_;  // [segment]
  RackBlocks free_;                // [rack]
  std::vector<uint32_t> loads_;    // [rack]
  std::vector<uint32_t> num_moved_;
};

bool IsRelieved(const RackView& racks, const std::vector<RackBlocks>& where) {
  return std::ranges::all_of(RackLoads(racks.segments, where), [&](uint32_t load) { return load <= racks.max_rings; });
}

}  // namespace

std::vector<RackBlocks> PackInRow(const RackView& racks) {
  std::vector<uint32_t> order(racks.segments.size());
  std::iota(order.begin(), order.end(), 0u);
  // Where most of a segment is now, it shall be in the row; of those in one rack first what has come from before it.
  const auto place = [&](uint32_t s) {
    const RackBlocks& blocks = racks.segments[s].blocks;
    double first_moment = 0;
    for (size_t t = 0; t < blocks.size(); ++t) first_moment += static_cast<double>(t) * blocks[t];
    return std::tuple(std::ranges::max_element(blocks) - blocks.begin(), first_moment / std::max(1u, Sum(blocks)), s);
  };
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) { return place(a) < place(b); });
  std::vector<RackBlocks> where(racks.segments.size(), RackBlocks(racks.capacity.size(), 0));
  size_t rack = 0;
  uint32_t num_taken = 0;  // in `rack`
  for (const uint32_t s : order) {
    for (uint32_t left = Sum(racks.segments[s].blocks); left > 0;) {
      FL_CHECK_MSG(rack < racks.capacity.size(), "segments have more blocks than their racks");
      const uint32_t count = std::min(left, racks.capacity[rack] - num_taken);
      where[s][rack] += count;
      left -= count;
      num_taken += count;
      if (num_taken < racks.capacity[rack]) continue;
      ++rack;
      num_taken = 0;
    }
  }
  return where;
}

Defragmentation MonkeyTree::Plan(const RackView& racks) const {
  Arrangement arrangement(racks);
  if (arrangement.excess() == 0) return {DefragmentationOutcome::kNotNeeded, {}};
  for (uint32_t i = 0; i < kMostSteps && arrangement.excess() > 0; ++i) {
    const std::optional<Step> step = arrangement.FindStep();
    if (!step) break;
    arrangement.Apply(*step);
  }
  const std::vector<RackBlocks> where = arrangement.excess() == 0 ? arrangement.where() : PackInRow(racks);
  if (!IsRelieved(racks, where)) return {DefragmentationOutcome::kNone, {}};
  return {DefragmentationOutcome::kFound, MovesTo(racks.segments, where)};
}

}  // namespace fairlead::scheduling::monkey_tree
