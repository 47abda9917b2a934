#include "execution/transfer_pattern.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace fairlead::execution {

namespace {

using model::RankId;

// A tree over members; `order` has parents before children.
struct Tree {
  std::vector<std::optional<MemberIndex>> parent;  // [member]
  std::vector<MemberIndex> order;
};

// Hosts form a binary heap, the members of a host a chain behind its first.
Tree BuildTree(const JobShape& shape, std::span<const RankId> ranks, uint32_t channel) {
  Tree tree;
  tree.order = ChannelOrder(shape, ranks, channel);
  if (channel % 2 == 1) std::ranges::reverse(tree.order);
  tree.parent.resize(ranks.size());
  std::vector<MemberIndex> heads;
  for (size_t i = 0; i < tree.order.size(); ++i) {
    const MemberIndex member = tree.order[i];
    if (i > 0 && shape.SameHost(ranks[member], ranks[tree.order[i - 1]])) {
      tree.parent[member] = tree.order[i - 1];
      continue;
    }
    if (!heads.empty()) tree.parent[member] = heads[(heads.size() - 1) / 2];
    heads.push_back(member);
  }
  return tree;
}

void AddTree(const Tree& tree, uint16_t channel, TransferPattern& pattern) {
  const size_t n = tree.order.size();
  std::vector<EdgeIndex> up(n);
  std::vector<EdgeIndex> down(n);
  std::vector<std::vector<EdgeIndex>> child_up(n);
  std::vector<std::vector<EdgeIndex>> child_down(n);
  for (const MemberIndex member : tree.order) {
    if (!tree.parent[member].has_value()) continue;
    const MemberIndex parent = *tree.parent[member];
    up[member] = pattern.AddEdge({member, parent, channel});
    down[member] = pattern.AddEdge({parent, member, channel});
    child_up[parent].push_back(up[member]);
    child_down[parent].push_back(down[member]);
  }
  const MemberIndex root = tree.order.front();
  for (size_t i = n; i-- > 1;) {
    const MemberIndex member = tree.order[i];
    pattern.AddStage(member, 0, child_up[member], {{up[member]}});
  }
  pattern.AddStage(root, 0, child_up[root], child_down[root]);
  for (size_t i = 1; i < n; ++i) {
    const MemberIndex member = tree.order[i];
    pattern.AddStage(member, 0, {{down[member]}}, child_down[member]);
  }
}

}  // namespace

EdgeIndex TransferPattern::AddEdge(const TransferEdge& edge) {
  edges.push_back(edge);
  return static_cast<EdgeIndex>(edges.size() - 1);
}

void TransferPattern::AddStage(MemberIndex member, uint32_t lag, std::span<const EdgeIndex> inputs,
                               std::span<const EdgeIndex> outputs) {
  stages.push_back({member, lag, static_cast<uint32_t>(stage_edges.size()), static_cast<uint32_t>(inputs.size()),
                    static_cast<uint32_t>(outputs.size())});
  stage_edges.insert(stage_edges.end(), inputs.begin(), inputs.end());
  stage_edges.insert(stage_edges.end(), outputs.begin(), outputs.end());
  lag_max = std::max(lag_max, lag);
}

std::vector<MemberIndex> ChannelOrder(const JobShape& shape, std::span<const RankId> ranks, uint32_t channel) {
  std::vector<MemberIndex> order(ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<MemberIndex>(i);
  for (size_t first = 0; first < order.size();) {
    size_t last = first + 1;
    while (last < order.size() && shape.SameHost(ranks[order[first]], ranks[order[last]])) ++last;
    const auto begin = order.begin() + static_cast<ptrdiff_t>(first);
    const auto turn = static_cast<ptrdiff_t>(channel % (last - first));
    std::rotate(begin, begin + turn, order.begin() + static_cast<ptrdiff_t>(last));
    first = last;
  }
  return order;
}

TransferPattern RingPattern(const JobShape& shape, std::span<const RankId> ranks) {
  FL_CHECK(ranks.size() >= 2);
  TransferPattern pattern;
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    const std::vector<MemberIndex> order = ChannelOrder(shape, ranks, channel);
    const size_t n = order.size();
    const auto base = static_cast<EdgeIndex>(pattern.edges.size());
    for (size_t i = 0; i < n; ++i) {
      pattern.AddEdge({order[i], order[(i + 1) % n], static_cast<uint16_t>(channel)});
    }
    for (size_t i = 0; i < n; ++i) {
      const EdgeIndex input = base + static_cast<EdgeIndex>((i + n - 1) % n);
      const EdgeIndex output = base + static_cast<EdgeIndex>(i);
      pattern.AddStage(order[i], shape.messages_per_ring_step, {{input}}, {{output}});
    }
  }
  return pattern;
}

TransferPattern TreePattern(const JobShape& shape, std::span<const RankId> ranks) {
  FL_CHECK(ranks.size() >= 2);
  TransferPattern pattern;
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    AddTree(BuildTree(shape, ranks, channel), static_cast<uint16_t>(channel), pattern);
  }
  return pattern;
}

TransferPattern AllToAllPattern(const JobShape& shape, std::span<const RankId> ranks) {
  FL_CHECK(ranks.size() >= 2);
  TransferPattern pattern;
  const auto n = static_cast<MemberIndex>(ranks.size());
  for (MemberIndex turn = 1; turn < n; ++turn) {
    for (MemberIndex source = 0; source < n; ++source) {
      const MemberIndex destination = (source + turn) % n;
      const auto channel = static_cast<uint16_t>((source + destination) % shape.channels);
      const EdgeIndex edge = pattern.AddEdge({source, destination, channel});
      pattern.AddStage(source, 0, {}, {{edge}});
      pattern.AddStage(destination, 0, {{edge}}, {});
    }
  }
  return pattern;
}

TransferPattern DataParallelPattern(const JobShape& shape, std::span<const RankId> ranks) {
  switch (shape.algorithm) {
    case DataParallelAlgorithm::kTree:
      return TreePattern(shape, ranks);
    case DataParallelAlgorithm::kAllToAll:
      return AllToAllPattern(shape, ranks);
    case DataParallelAlgorithm::kRing:
    case DataParallelAlgorithm::kShardedRing:
      break;
  }
  return RingPattern(shape, ranks);
}

TransferPattern OpeningPattern(const JobShape& shape, std::span<const RankId> ranks) {
  TransferPattern pattern = AllToAllPattern(shape, ranks);
  for (TransferEdge& edge : pattern.edges) edge.channel = static_cast<uint16_t>(edge.channel + shape.channels);
  return pattern;
}

TransferPattern PairPattern(const JobShape& shape) {
  TransferPattern pattern;
  for (uint32_t channel = 0; channel < shape.channels; ++channel) {
    const EdgeIndex edge = pattern.AddEdge({0, 1, static_cast<uint16_t>(channel)});
    pattern.AddStage(0, 0, {}, {{edge}});
    pattern.AddStage(1, 0, {{edge}}, {});
  }
  return pattern;
}

}  // namespace fairlead::execution
