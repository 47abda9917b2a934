#include "execution/network_pairs.h"

#include <array>
#include <set>
#include <span>

#include "execution/transfer_pattern.h"

namespace fairlead::execution {

using model::JobLayout;
using model::RankId;

namespace {

// Pairs with messages on a `wanted` channel.
template <class Predicate>
std::vector<NetworkPair> PairsOfChannels(const JobShape& shape, const JobLayout& layout, const Predicate& wanted) {
  std::set<NetworkPair> pairs;
  const auto add = [&](std::span<const RankId> ranks, const TransferPattern& pattern) {
    for (const TransferEdge& edge : pattern.edges) {
      const NetworkPair pair = {ranks[edge.source], ranks[edge.destination]};
      if (wanted(edge.channel) && !shape.SameHost(pair.source, pair.destination)) pairs.insert(pair);
    }
  };
  const CommunicatorIds ids(shape);
  for (uint32_t id = ids.first_data; id < ids.first_pipeline; ++id) {
    const std::vector<RankId>& ranks = layout.communicators[id].ranks;
    add(ranks, DataParallelPattern(shape, ranks));
    if (shape.opening_bytes > 0 && shape.StageOf(ranks.front()) == 0) add(ranks, OpeningPattern(shape, ranks));
  }
  const TransferPattern between_stages = PairPattern(shape);
  for (uint32_t id = ids.first_pipeline; id < ids.first_all; ++id) {
    const std::vector<RankId>& ranks = layout.communicators[id].ranks;
    for (size_t stage = 0; stage + 1 < ranks.size(); ++stage) {
      add(std::array{ranks[stage], ranks[stage + 1]}, between_stages);
      add(std::array{ranks[stage + 1], ranks[stage]}, between_stages);
    }
  }
  return {pairs.begin(), pairs.end()};
}

}  // namespace

std::vector<NetworkPair> NetworkPairs(const JobShape& shape, const JobLayout& layout) {
  return PairsOfChannels(shape, layout, [](uint32_t) { return true; });
}

std::vector<NetworkPair> NetworkPairsOn(const JobShape& shape, const JobLayout& layout, uint32_t plane) {
  return PairsOfChannels(shape, layout, [&](uint32_t channel) { return channel % shape.planes == plane; });
}

}  // namespace fairlead::execution
