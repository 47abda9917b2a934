#include "model/wait_picture.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace fairlead::model {

namespace {

constexpr size_t kUnreached = std::numeric_limits<size_t>::max();

WaitNode MergeNodes(const std::vector<WaitNode>& nodes, const std::vector<uint32_t>& members) {
  WaitNode merged = nodes[members.front()];
  if (members.size() == 1) return merged;
  merged.label.clear();
  for (const uint32_t member : members) {
    if (member == members.front()) continue;
    const WaitNode& node = nodes[member];
    merged.ranks.insert(merged.ranks.end(), node.ranks.begin(), node.ranks.end());
    merged.num_operations += node.num_operations;
    merged.is_culprit |= node.is_culprit;
  }
  std::ranges::sort(merged.ranks);
  return merged;
}

// Groups given per node become nodes.
WaitPicture MergeGroups(const WaitPicture& waits, const std::vector<uint32_t>& group_of, size_t num_groups) {
  WaitPicture merged;
  std::vector<std::vector<uint32_t>> members(num_groups);
  for (uint32_t node = 0; node < waits.nodes.size(); ++node) members[group_of[node]].push_back(node);
  for (const std::vector<uint32_t>& group : members) merged.nodes.push_back(MergeNodes(waits.nodes, group));
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (const auto& [from, to] : waits.edges) {
    if (group_of[from] != group_of[to]) edges.emplace(group_of[from], group_of[to]);
  }
  merged.edges.assign(edges.begin(), edges.end());
  return merged;
}

WaitPicture FoldAlike(const WaitPicture& waits) {
  std::vector<std::pair<std::set<uint32_t>, std::set<uint32_t>>> around(waits.nodes.size());
  for (const auto& [from, to] : waits.edges) {
    around[from].first.insert(to);
    around[to].second.insert(from);
  }
  using Likeness = std::tuple<bool, uint32_t, std::set<uint32_t>, std::set<uint32_t>>;
  std::map<Likeness, uint32_t> groups;
  std::vector<uint32_t> group_of(waits.nodes.size());
  for (uint32_t node = 0; node < waits.nodes.size(); ++node) {
    const uint32_t own = waits.nodes[node].is_culprit ? node + 1 : 0;  // culprits differ from all
    Likeness likeness = {waits.nodes[node].ranks.empty(), own, around[node].first, around[node].second};
    group_of[node] = groups.try_emplace(std::move(likeness), static_cast<uint32_t>(groups.size())).first->second;
  }
  return MergeGroups(waits, group_of, groups.size());
}

// Keeps the nodes nearest to the culprits; the others become one.
WaitPicture FoldFarthest(const WaitPicture& waits, size_t num_nodes_max) {
  const std::vector<size_t> layers = LayersOf(waits);
  std::vector<uint32_t> order(waits.nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {},
                           [&](uint32_t node) { return std::pair(!waits.nodes[node].is_culprit, layers[node]); });
  const size_t num_kept = num_nodes_max - 1;
  std::vector<uint32_t> group_of(waits.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) group_of[order[i]] = static_cast<uint32_t>(std::min(i, num_kept));
  WaitPicture folded = MergeGroups(waits, group_of, num_kept + 1);
  folded.nodes.back().is_rest = true;
  return folded;
}

}  // namespace

std::vector<size_t> LayersOf(const WaitPicture& waits) {
  const size_t num_nodes = waits.nodes.size();
  std::vector<std::vector<uint32_t>> waiting(num_nodes);  // [node] its waiters
  std::vector<bool> is_waiting(num_nodes, false);
  for (const auto& [from, to] : waits.edges) {
    FL_CHECK(from < num_nodes && to < num_nodes);
    waiting[to].push_back(from);
    is_waiting[from] = true;
  }
  const bool has_culprit = std::ranges::any_of(waits.nodes, &WaitNode::is_culprit);
  std::vector<size_t> layers(num_nodes, kUnreached);
  std::vector<uint32_t> queue;
  for (uint32_t node = 0; node < num_nodes; ++node) {
    if (has_culprit ? waits.nodes[node].is_culprit : !is_waiting[node]) {
      layers[node] = 0;
      queue.push_back(node);
    }
  }
  size_t next = 0;
  for (uint32_t seed = 0; seed <= num_nodes; ++seed) {
    for (; next < queue.size(); ++next) {
      for (const uint32_t from : waiting[queue[next]]) {
        if (layers[from] != kUnreached) continue;
        layers[from] = layers[queue[next]] + 1;
        queue.push_back(from);
      }
    }
    if (seed < num_nodes && layers[seed] == kUnreached) {
      layers[seed] = 0;
      queue.push_back(seed);
    }
  }
  return layers;
}

WaitPicture Fold(const WaitPicture& waits, size_t num_nodes_max) {
  FL_CHECK(num_nodes_max >= 2);
  WaitPicture folded = FoldAlike(waits);
  return folded.nodes.size() <= num_nodes_max ? folded : FoldFarthest(folded, num_nodes_max);
}

}  // namespace fairlead::model
