#include "diagnosis/c4d/strongly_connected.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {
namespace {

constexpr uint32_t kNotVisited = ~uint32_t{0};

class Tarjan {
 public:
  explicit Tarjan(const Digraph& edges)
      : edges_(edges), order_(edges.size(), kNotVisited), low_(edges.size(), 0), next_edge_(edges.size(), 0) {
    components_.of.assign(edges.size(), kNotVisited);
  }

  StrongComponents Run() {
    for (uint32_t node = 0; node < edges_.size(); ++node) {
      if (order_[node] == kNotVisited) Explore(node);
    }
    return std::move(components_);
  }

 private:
  void Explore(uint32_t start) {
    Enter(start);
    while (!path_.empty()) {
      const uint32_t node = path_.back();
      if (next_edge_[node] < edges_[node].size()) {
        const uint32_t to = edges_[node][next_edge_[node]++];
        if (order_[to] == kNotVisited) {
          Enter(to);
        } else if (components_.of[to] == kNotVisited) {
          low_[node] = std::min(low_[node], order_[to]);
        }
        continue;
      }
      path_.pop_back();
      if (!path_.empty()) low_[path_.back()] = std::min(low_[path_.back()], low_[node]);
      if (low_[node] == order_[node]) Close(node);
    }
  }

  void Enter(uint32_t node) {
    order_[node] = low_[node] = num_entered_++;
    path_.push_back(node);
    open_.push_back(node);
  }

  void Close(uint32_t node) {
    uint32_t member = kNotVisited;
    do {
      member = open_.back();
      open_.pop_back();
      components_.of[member] = components_.count;
    } while (member != node);
    ++components_.count;
  }

  const Digraph& edges_;
  uint32_t num_entered_ = 0;
  std::vector<uint32_t> order_;
  std::vector<uint32_t> low_;
  std::vector<size_t> next_edge_;
  std::vector<uint32_t> path_;
  std::vector<uint32_t> open_;
  StrongComponents components_;
};

std::vector<bool> FindReached(const Digraph& edges, const std::vector<uint32_t>& starts) {
  std::vector<bool> reached(edges.size(), false);
  std::vector<uint32_t> pending = starts;
  while (!pending.empty()) {
    const uint32_t node = pending.back();
    pending.pop_back();
    if (reached[node]) continue;
    reached[node] = true;
    pending.insert(pending.end(), edges[node].begin(), edges[node].end());
  }
  return reached;
}

}  // namespace

StrongComponents FindStrongComponents(const Digraph& edges) { return Tarjan(edges).Run(); }

std::vector<std::vector<uint32_t>> FindReachableSinks(const Digraph& edges, const std::vector<uint32_t>& starts) {
  const StrongComponents components = FindStrongComponents(edges);
  const std::vector<bool> reached = FindReached(edges, starts);
  std::vector<bool> is_sink(components.count, true);
  for (uint32_t node = 0; node < edges.size(); ++node) {
    for (const uint32_t to : edges[node]) {
      if (components.of[to] != components.of[node]) is_sink[components.of[node]] = false;
    }
  }
  std::vector<std::vector<uint32_t>> members(components.count);
  std::vector<uint32_t> order;
  for (uint32_t node = 0; node < edges.size(); ++node) {
    const uint32_t component = components.of[node];
    if (!reached[node] || !is_sink[component]) continue;
    if (members[component].empty()) order.push_back(component);
    members[component].push_back(node);
  }
  std::vector<std::vector<uint32_t>> sinks;
  sinks.reserve(order.size());
  for (const uint32_t component : order) sinks.push_back(std::move(members[component]));
  return sinks;
}

}  // namespace fairlead::diagnosis::c4d
