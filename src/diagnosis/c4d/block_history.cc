#include "diagnosis/c4d/block_history.h"

#include <algorithm>
#include <cstddef>

namespace fairlead::diagnosis::c4d {

void BlockHistory::Add(uint32_t role, std::span<const BlockSample> samples, double seconds, double num_pieces) {
  Block block{.at = now_, .seconds = seconds / num_pieces, .own = {}};
  block.own.reserve(samples.size());
  for (const BlockSample& sample : samples) {
    block.own.push_back({.rank = sample.rank, .seconds = static_cast<float>(sample.own_seconds / num_pieces)});
  }
  std::deque<Block>& blocks = blocks_[role];
  blocks.push_back(std::move(block));
  if (blocks.size() > num_kept_) blocks.pop_front();
}

namespace {

// Args: values: reordered; not empty. share: 0..1.
double QuantileInPlace(std::vector<float>& values, double share) {
  const auto place = static_cast<ptrdiff_t>(share * static_cast<double>(values.size()));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}

}  // namespace

std::vector<model::IterationBlock> BlockHistory::Of(uint32_t role, std::span<const model::RankId> accused) const {
  const auto found = blocks_.find(role);
  if (found == blocks_.end()) return {};
  std::vector<bool> is_accused;  // [rank]
  for (const model::RankId rank : accused) {
    is_accused.resize(std::max(is_accused.size(), rank.index() + 1), false);
    is_accused[rank.index()] = true;
  }
  std::vector<model::IterationBlock> blocks;
  std::vector<float> like;
  for (const Block& block : found->second) {
    model::IterationBlock& seen = blocks.emplace_back();
    seen.at = block.at;
    seen.seconds = block.seconds;
    if (accused.empty()) continue;
    like.clear();
    for (const Own& own : block.own) {
      if (own.rank < is_accused.size() && is_accused[own.rank]) {
        seen.own_seconds = std::max<double>(seen.own_seconds.value_or(0), own.seconds);
      } else {
        like.push_back(own.seconds);
      }
    }
    if (like.empty()) continue;
    seen.like_low_seconds = QuantileInPlace(like, 0.25);
    seen.like_median_seconds = QuantileInPlace(like, 0.5);
    seen.like_high_seconds = QuantileInPlace(like, 0.75);
  }
  return blocks;
}

}  // namespace fairlead::diagnosis::c4d
