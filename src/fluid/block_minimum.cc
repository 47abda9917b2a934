#include "fluid/block_minimum.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::fluid {

void BlockMinimum::Resize(size_t size) {
  std::vector<int64_t> values = tiers_.empty() ? std::vector<int64_t>() : std::move(tiers_[0].values);
  FL_CHECK(size >= values.size());
  values.resize(size, kNever);
  tiers_.clear();
  tiers_.push_back({std::move(values), {}, {}});
  while (tiers_.back().values.size() > 1) {
    const size_t num_blocks = (tiers_.back().values.size() + kFanOut - 1) / kFanOut;
    tiers_.push_back({std::vector<int64_t>(num_blocks), std::vector<uint8_t>(num_blocks, 0), {}});
    const size_t tier = tiers_.size() - 1;
    for (size_t block = 0; block < num_blocks; ++block) tiers_[tier].values[block] = BlockLeast(tier, block);
  }
}

void BlockMinimum::Set(size_t index, int64_t value) {
  int64_t& slot = tiers_[0].values[index];
  const int64_t old = slot;
  if (value == old) return;
  slot = value;
  if (tiers_.size() == 1) return;
  const size_t block = index / kFanOut;
  if (value < old) {
    Lower(1, block, value);
  } else if (tiers_[1].values[block] == old) {
    MarkStale(1, block);
  }
}

// A stale node holds some number that is at most its true least one, or it is listed and will be repaired: both keep.
void BlockMinimum::Lower(size_t tier, size_t block, int64_t value) {
  while (tier < tiers_.size() && value < tiers_[tier].values[block]) {
    tiers_[tier].values[block] = value;
    block /= kFanOut;
    ++tier;
  }
}

void BlockMinimum::MarkStale(size_t tier, size_t block) {
  Tier& t = tiers_[tier];
  if (t.stale[block]) return;
  t.stale[block] = 1;
  t.stale_list.push_back(static_cast<uint32_t>(block));
}

int64_t BlockMinimum::BlockLeast(size_t tier, size_t block) const {
  const std::vector<int64_t>& below = tiers_[tier - 1].values;
  const size_t end = std::min(below.size(), (block + 1) * kFanOut);
  int64_t least = kNever;
  for (size_t i = block * kFanOut; i < end; ++i) least = std::min(least, below[i]);
  return least;
}

int64_t BlockMinimum::Min() {
  if (size() == 0) return kNever;
  for (size_t tier = 1; tier < tiers_.size(); ++tier) {
    Tier& t = tiers_[tier];
    for (uint32_t block : t.stale_list) {
      t.stale[block] = 0;
      const int64_t old = t.values[block];
      const int64_t least = BlockLeast(tier, block);
      if (least == old) continue;
      t.values[block] = least;
      if (tier + 1 < tiers_.size() && tiers_[tier + 1].values[block / kFanOut] == old) {
        MarkStale(tier + 1, block / kFanOut);
      }
    }
    t.stale_list.clear();
  }
  return tiers_.back().values[0];
}

void BlockMinimum::CollectUpTo(int64_t limit, std::vector<uint32_t>* indices) {
  FL_CHECK(limit < kNever);
  if (Min() > limit) return;
  if (tiers_.size() == 1) {
    indices->push_back(0);
  } else {
    CollectBelow(tiers_.size() - 1, 0, limit, indices);
  }
}

// All of the block below a node (tier >= 1) of which the least is at most `limit`.
void BlockMinimum::CollectBelow(size_t tier, size_t node, int64_t limit, std::vector<uint32_t>* indices) const {
  const std::vector<int64_t>& below = tiers_[tier - 1].values;
  const size_t end = std::min(below.size(), (node + 1) * kFanOut);
  for (size_t child = node * kFanOut; child < end; ++child) {
    if (below[child] > limit) continue;
    if (tier == 1) {
      indices->push_back(static_cast<uint32_t>(child));
    } else {
      CollectBelow(tier - 1, child, limit, indices);
    }
  }
}

}  // namespace fairlead::fluid
