#include "collective/collective_kind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/nearest_word.h"
#include "collective/all_to_all.h"
#include "collective/hierarchical_collectives.h"
#include "collective/ring_collectives.h"
#include "collective/tree_all_reduce.h"

namespace fairlead::collective {
namespace {

constexpr std::array<std::string_view, 12> kNames = {"ring-all-reduce",
                                                     "tree-all-reduce",
                                                     "hierarchical-all-reduce",
                                                     "in-network-all-reduce",
                                                     "ring-reduce-scatter",
                                                     "hierarchical-reduce-scatter",
                                                     "ring-all-gather",
                                                     "hierarchical-all-gather",
                                                     "broadcast",
                                                     "all-to-all",
                                                     "rail-all-to-all",
                                                     "send-receive"};

void AppendSendReceive(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (size <= Bytes(0)) return;
  if (ranks.size() > 1) flows.AddChain(1);
  for (size_t i = 1; i < ranks.size(); ++i) flows.AddAlone(ranks[i - 1], ranks[i], size);
}

}  // namespace

std::span<const std::string_view> CollectiveNames() { return kNames; }

std::string_view Name(CollectiveKind kind) { return kNames[static_cast<size_t>(kind)]; }

Result<CollectiveKind> ParseCollectiveKind(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return InvalidArgument(UnknownName("collective", name, kNames));
  }
  return static_cast<CollectiveKind>(found - kNames.begin());
}

void AppendCollective(CollectiveKind kind, std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  switch (kind) {
    case CollectiveKind::kRingAllReduce:
      return AppendRingAllReduce(ranks, size, flows);
    case CollectiveKind::kTreeAllReduce:
      return AppendTreeAllReduce(ranks, size, flows);
    case CollectiveKind::kHierarchicalAllReduce:
      return AppendHierarchicalAllReduce(ranks, size, flows);
    case CollectiveKind::kInNetworkAllReduce:
      return AppendInNetworkAllReduce(ranks, size, flows);
    case CollectiveKind::kRingReduceScatter:
      return AppendRingReduceScatter(ranks, size, flows);
    case CollectiveKind::kHierarchicalReduceScatter:
      return AppendHierarchicalReduceScatter(ranks, size, flows);
    case CollectiveKind::kRingAllGather:
      return AppendRingAllGather(ranks, size, flows);
    case CollectiveKind::kHierarchicalAllGather:
      return AppendHierarchicalAllGather(ranks, size, flows);
    case CollectiveKind::kBroadcast:
      return AppendRingBroadcast(ranks, size, flows);
    case CollectiveKind::kAllToAll:
      return AppendAllToAll(ranks, size, flows);
    case CollectiveKind::kRailAllToAll:
      return AppendRailAllToAll(ranks, size, flows);
    case CollectiveKind::kSendReceive:
      return AppendSendReceive(ranks, size, flows);
  }
}

}  // namespace fairlead::collective
