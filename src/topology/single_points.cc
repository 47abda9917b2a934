#include "topology/single_points.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <tuple>
#include <utility>

namespace fairlead::topology {

namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Switches are numbered in the order in which the search finds them, so that a subtree is a range.
class SinglePointFinder {
 public:
  explicit SinglePointFinder(const Fabric& fabric) : fabric_(fabric), order_(fabric.num_nodes(), kNone) {}

  std::vector<SinglePoint> Find() {
    for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
      for (const NodeId node : fabric_.switches(kind)) {
        if (order_[node.index()] == kNone) Search(node);
      }
    }
    MakeAncestorTable();
    CountHosts();
    FindSwitches();
    FindSwitchCables();
    FindHostCables();
    std::ranges::sort(points_, [](const SinglePoint& a, const SinglePoint& b) {
      const auto key = [](const SinglePoint& p) {
        return std::tuple(~p.num_cut_hosts, !p.node.valid(), p.node.valid() ? p.node.value() : p.link.value());
      };
      return key(a) < key(b);
    });
    return std::move(points_);
  }

 private:
  struct Visited {
    NodeId node;
    uint32_t parent = kNone;
    LinkId parent_link;  // from the parent
    uint32_t root = 0;   // of its tree: planes are trees of their own
    uint32_t depth = 0;
    uint32_t low = 0;  // the first switch that a back edge from the subtree reaches
    uint32_t end = 0;  // behind the last one of the subtree
  };

  bool IsSwitchLink(LinkId link) const { return IsNetworkSwitch(fabric_.kind(fabric_.destination(link))); }

  void Visit(NodeId node, uint32_t parent, LinkId parent_link) {
    const auto number = static_cast<uint32_t>(visited_.size());
    order_[node.index()] = number;
    const uint32_t depth = parent == kNone ? 0 : visited_[parent].depth + 1;
    const uint32_t root = parent == kNone ? number : visited_[parent].root;
    visited_.push_back({.node = node,
                        .parent = parent,
                        .parent_link = parent_link,
                        .root = root,
                        .depth = depth,
                        .low = number,
                        .end = 0});
  }

  void Search(NodeId root) {
    struct Frame {
      uint32_t number;
      size_t next_link;
    };
    Visit(root, kNone, LinkId());
    std::vector<Frame> stack = {{order_[root.index()], 0}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const uint32_t number = frame.number;
      const auto links = fabric_.links_from(visited_[number].node);
      if (frame.next_link < links.size()) {
        const LinkId link = links[frame.next_link++];
        // Only the cable that it came by is no way back: one beside it is.
        const LinkId came_by = visited_[number].parent_link;
        if (!IsSwitchLink(link) || (came_by.valid() && link == fabric_.reverse(came_by))) continue;
        const NodeId next = fabric_.destination(link);
        if (order_[next.index()] == kNone) {
          Visit(next, number, link);
          stack.push_back({order_[next.index()], 0});
        } else {
          visited_[number].low = std::min(visited_[number].low, order_[next.index()]);
        }
        continue;
      }
      visited_[number].end = static_cast<uint32_t>(visited_.size());
      stack.pop_back();
      const uint32_t parent = visited_[number].parent;
      if (parent != kNone) visited_[parent].low = std::min(visited_[parent].low, visited_[number].low);
    }
  }

  // shallowest_[k][i]: the one of the 2^k switches from number i with its parent nearest to the root.
  void MakeAncestorTable() {
    const size_t size = visited_.size();
    shallowest_.emplace_back(size);
    for (uint32_t i = 0; i < size; ++i) shallowest_[0][i] = i;
    for (size_t width = 2; width <= size; width *= 2) {
      const std::vector<uint32_t>& half = shallowest_.back();
      std::vector<uint32_t> row(size - width + 1);
      for (size_t i = 0; i < row.size(); ++i) row[i] = Shallower(half[i], half[i + width / 2]);
      shallowest_.push_back(std::move(row));
    }
  }
  uint32_t Shallower(uint32_t a, uint32_t b) const { return visited_[b].depth < visited_[a].depth ? b : a; }
  // Of two switches of one tree.
  uint32_t CommonAncestor(uint32_t a, uint32_t b) const {
    if (a == b) return a;
    const auto [first, last] = std::minmax(a, b);
    const auto level = static_cast<size_t>(std::bit_width(last - first) - 1);
    const std::vector<uint32_t>& row = shallowest_[level];
    return visited_[Shallower(row[first + 1], row[last + 1 - (size_t{1} << level)])].parent;
  }

  // The leaves of a host, each once, in the order of the search.
  std::vector<uint32_t> LeavesOf(HostId host) const {
    std::vector<uint32_t> leaves;
    for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
      const NodeId nic = fabric_.node_of(fabric_.nic(host, n));
      for (const LinkId link : fabric_.links_from(nic)) {
        if (IsNetwork(fabric_.tier(link))) leaves.push_back(order_[fabric_.destination(link).index()]);
      }
    }
    std::ranges::sort(leaves);
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    return leaves;
  }

  // The child of `parent` with `number` in its subtree.
  uint32_t ChildTowards(uint32_t parent, uint32_t number) const {
    const auto& children = children_[parent];
    return *(std::ranges::upper_bound(children, number) - 1);
  }
  bool IsSeparated(uint32_t child) const { return visited_[child].low >= visited_[child].parent; }

  void CountHosts() {
    const size_t size = visited_.size();
    children_.resize(size);
    for (uint32_t i = 0; i < size; ++i) {
      if (visited_[i].parent != kNone) children_[visited_[i].parent].push_back(i);
    }
    touching_.assign(size + 1, 0);
    within_.assign(size + 1, 0);
    confined_at_.assign(size, 0);
    for (HostId host(0u); host.index() < fabric_.num_hosts(); host = HostId(host.index() + 1)) {
      const std::vector<uint32_t> leaves = LeavesOf(host);
      // Leaves of one tree follow one another.
      for (size_t begin = 0, end = 0; begin < leaves.size(); begin = end) {
        const uint32_t root = visited_[leaves[begin]].root;
        while (end < leaves.size() && visited_[leaves[end]].root == root) ++end;
        ++hosts_of_tree_[root];
        CountHost(std::span(leaves).subspan(begin, end - begin));
      }
    }
    // Sums in front of each number: a subtree is a range.
    PrefixSum(&touching_);
    PrefixSum(&within_);
    for (const auto& [root, hosts] : hosts_of_tree_) {
      if (hosts > most_hosts_[0].second) {
        most_hosts_[1] = std::exchange(most_hosts_[0], {root, hosts});
      } else if (hosts > most_hosts_[1].second) {
        most_hosts_[1] = {root, hosts};
      }
    }
  }

  // Args: its leaves in one tree, at least one.
  void CountHost(std::span<const uint32_t> leaves) {
    uint32_t ancestor = leaves.front();
    for (size_t i = 0; i < leaves.size(); ++i) {
      ++touching_[leaves[i]];
      if (i > 0) --touching_[CommonAncestor(leaves[i - 1], leaves[i])];
      ancestor = CommonAncestor(ancestor, leaves[i]);
    }
    ++within_[ancestor];
    // Without the common ancestor, does anything join the host to what lies above or beside?
    const bool is_confined = std::ranges::all_of(
        leaves, [&](uint32_t leaf) { return leaf == ancestor || IsSeparated(ChildTowards(ancestor, leaf)); });
    if (is_confined) ++confined_at_[ancestor];
  }

  int64_t HostsOfTree(uint32_t root) const {
    const auto found = hosts_of_tree_.find(root);
    return found == hosts_of_tree_.end() ? 0 : found->second;
  }
  // Of the largest tree but this.
  int64_t HostsOfOtherTree(uint32_t root) const { return most_hosts_[most_hosts_[0].first == root ? 1 : 0].second; }
  static void PrefixSum(std::vector<int64_t>* values) {
    int64_t sum = 0;
    for (int64_t& value : *values) {
      const int64_t own = value;
      value = sum;
      sum += own;
    }
  }
  int64_t OfSubtree(const std::vector<int64_t>& sums, uint32_t root) const {
    return sums[visited_[root].end] - sums[root];
  }

  void Add(NodeId node, LinkId link, int64_t largest) {
    const int64_t num_hosts = most_hosts_[0].second;
    if (largest >= num_hosts) return;
    points_.push_back({.node = node, .link = link, .num_cut_hosts = static_cast<uint32_t>(num_hosts - largest)});
  }

  void FindSwitches() {
    for (uint32_t v = 0; v < visited_.size(); ++v) {
      int64_t confined = confined_at_[v];
      int64_t largest = 0;
      for (const uint32_t child : children_[v]) {
        if (!IsSeparated(child)) continue;
        largest = std::max(largest, OfSubtree(touching_, child));
        confined += OfSubtree(within_, child);
      }
      const uint32_t root = visited_[v].root;
      Add(visited_[v].node, LinkId(), std::max({largest, HostsOfTree(root) - confined, HostsOfOtherTree(root)}));
    }
  }

  void FindSwitchCables() {
    for (uint32_t v = 0; v < visited_.size(); ++v) {
      if (visited_[v].parent == kNone || visited_[v].low <= visited_[v].parent) continue;
      const LinkId link = visited_[v].parent_link;
      const uint32_t root = visited_[v].root;
      Add(NodeId(), LinkId(link.value() & ~1u),
          std::max({OfSubtree(touching_, v), HostsOfTree(root) - OfSubtree(within_, v), HostsOfOtherTree(root)}));
    }
  }

  void FindHostCables() {
    for (HostId host(0u); host.index() < fabric_.num_hosts(); host = HostId(host.index() + 1)) {
      std::map<uint32_t, std::pair<size_t, LinkId>> cables;  // into each tree: how many, and one of them
      for (uint32_t n = 0; n < fabric_.num_nics_of(host); ++n) {
        for (const LinkId link : fabric_.links_from(fabric_.node_of(fabric_.nic(host, n)))) {
          if (!IsNetwork(fabric_.tier(link))) continue;
          auto& [count, cable] = cables[visited_[order_[fabric_.destination(link).index()]].root];
          ++count;
          cable = link;
        }
      }
      for (const auto& [root, found] : cables) {
        if (found.first == 1) Add(NodeId(), found.second, std::max(HostsOfTree(root) - 1, HostsOfOtherTree(root)));
      }
    }
  }

  const Fabric& fabric_;
  std::vector<uint32_t> order_;  // [node]: number of a switch
  std::vector<Visited> visited_;
  std::vector<std::vector<uint32_t>> shallowest_;
  std::vector<std::vector<uint32_t>> children_;
  std::vector<int64_t> touching_;     // sums: hosts with a leaf in a subtree
  std::vector<int64_t> within_;       // sums: hosts with all leaves in a subtree
  std::vector<int64_t> confined_at_;  // hosts that lose all others when this common ancestor of their leaves is gone
  std::map<uint32_t, int64_t> hosts_of_tree_;                                            // by root
  std::array<std::pair<uint32_t, int64_t>, 2> most_hosts_ = {{{kNone, 0}, {kNone, 0}}};  // root, hosts
  std::vector<SinglePoint> points_;
};

}  // namespace

std::vector<SinglePoint> FindSinglePoints(const Fabric& fabric) {
  if (fabric.num_hosts() < 2) return {};
  return SinglePointFinder(fabric).Find();
}

}  // namespace fairlead::topology
