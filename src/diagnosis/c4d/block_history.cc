#include "diagnosis/c4d/block_history.h"

#include <algorithm>
#include <set>

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

std::vector<model::IterationBlock> BlockHistory::Of(uint32_t role, std::span<const model::RankId> accused) const {
  const auto found = blocks_.find(role);
  if (found == blocks_.end()) return {};
  const std::set<uint32_t> accused_ranks = [&] {
    std::set<uint32_t> ranks;
    for (const model::RankId rank : accused) ranks.insert(rank.value());
    return ranks;
  }();
  std::vector<model::IterationBlock> blocks;
  for (const Block& block : found->second) {
    model::IterationBlock& seen = blocks.emplace_back();
    seen.at = block.at;
    seen.seconds = block.seconds;
    if (accused_ranks.empty()) continue;
    std::vector<double> like;
    for (const Own& own : block.own) {
      if (accused_ranks.contains(own.rank)) {
        seen.own_seconds = std::max<double>(seen.own_seconds.value_or(0), own.seconds);
      } else {
        like.push_back(own.seconds);
      }
    }
    if (like.empty()) continue;
    std::ranges::sort(like);
    seen.like_low_seconds = like[like.size() / 4];
    seen.like_median_seconds = like[like.size() / 2];
    seen.like_high_seconds = like[like.size() * 3 / 4];
  }
  return blocks;
}

}  // namespace fairlead::diagnosis::c4d
