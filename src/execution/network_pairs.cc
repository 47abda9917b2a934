#include "execution/network_pairs.h"

#include <set>

#include "execution/transfer_pattern.h"

namespace fairlead::execution {

using model::JobLayout;
using model::RankId;

std::vector<NetworkPair> NetworkPairs(const JobShape& shape, const JobLayout& layout) {
  std::set<NetworkPair> pairs;
  const auto add = [&](RankId source, RankId destination) {
    if (!shape.SameHost(source, destination)) pairs.insert({source, destination});
  };
  const CommunicatorIds ids(shape);
  for (uint32_t id = ids.first_data; id < ids.first_pipeline; ++id) {
    const std::vector<RankId>& ranks = layout.communicators[id].ranks;
    for (const TransferEdge& edge : DataParallelPattern(shape, ranks).edges) {
      add(ranks[edge.source], ranks[edge.destination]);
    }
  }
  for (uint32_t id = ids.first_pipeline; id < ids.first_all; ++id) {
    const std::vector<RankId>& ranks = layout.communicators[id].ranks;
    for (size_t stage = 0; stage + 1 < ranks.size(); ++stage) {
      add(ranks[stage], ranks[stage + 1]);
      add(ranks[stage + 1], ranks[stage]);
    }
  }
  return {pairs.begin(), pairs.end()};
}

}  // namespace fairlead::execution
