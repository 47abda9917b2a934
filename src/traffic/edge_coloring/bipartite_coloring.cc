#include "traffic/edge_coloring/bipartite_coloring.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace fairlead::traffic::edge_coloring {
namespace {

constexpr uint32_t kNoEdge = ~0u;

// One side of the graph: which edge of each node has which colour.
class ColorTable {
 public:
  ColorTable(uint32_t num_nodes, uint32_t num_colors)
      : num_colors_(num_colors), edges_(size_t{num_nodes} * num_colors, kNoEdge) {}

  uint32_t& At(uint32_t node, uint32_t color) { return edges_[size_t{node} * num_colors_ + color]; }
  uint32_t FirstFree(uint32_t node) {
    uint32_t color = 0;
    while (At(node, color) != kNoEdge) ++color;
    FL_DCHECK(color < num_colors_);
    return color;
  }

 private:
  uint32_t num_colors_;
  std::vector<uint32_t> edges_;  // [node][color]
};

class EdgeColors {
 public:
  EdgeColors(std::span<const BipartiteEdge> edges, uint32_t num_sources, uint32_t num_sinks)
      : edges_(edges),
        colors_(edges.size()),
        sides_{ColorTable(num_sources, MaxDegree(edges)), ColorTable(num_sinks, MaxDegree(edges))} {}

  void Color(uint32_t edge) {
    const uint32_t color = sides_[0].FirstFree(edges_[edge].source);
    const uint32_t other = sides_[1].FirstFree(edges_[edge].sink);
    if (sides_[1].At(edges_[edge].sink, color) != kNoEdge) Exchange(edges_[edge].sink, color, other);
    Set(edge, color);
  }
  std::vector<uint32_t> Take() { return std::move(colors_); }

 private:
  // Along the path from the sink that begins with `color`; the sink has no edge of the colour `other`.
  void Exchange(uint32_t sink, uint32_t color, uint32_t other) {
    std::vector<uint32_t> path;
    const std::array<uint32_t, 2> alternating = {color, other};
    uint32_t node = sink;
    for (size_t i = 0;; ++i) {
      const size_t side = 1 - i % 2;
      const uint32_t edge = sides_[side].At(node, alternating[i % 2]);
      if (edge == kNoEdge) break;
      path.push_back(edge);
      node = side == 1 ? edges_[edge].source : edges_[edge].sink;
    }
    for (const uint32_t edge : path) {
      sides_[0].At(edges_[edge].source, colors_[edge]) = kNoEdge;
      sides_[1].At(edges_[edge].sink, colors_[edge]) = kNoEdge;
    }
    for (const uint32_t edge : path) Set(edge, colors_[edge] == color ? other : color);
  }

  void Set(uint32_t edge, uint32_t color) {
    colors_[edge] = color;
    sides_[0].At(edges_[edge].source, color) = edge;
    sides_[1].At(edges_[edge].sink, color) = edge;
  }

  std::span<const BipartiteEdge> edges_;
  std::vector<uint32_t> colors_;
  std::array<ColorTable, 2> sides_;  // sources, sinks
};

}  // namespace

uint32_t MaxDegree(std::span<const BipartiteEdge> edges) {
  std::vector<uint32_t> sources, sinks;
  uint32_t most = 0;
  const auto count = [&most](std::vector<uint32_t>* degrees, uint32_t node) {
    if (node >= degrees->size()) degrees->resize(node + 1);
    most = std::max(most, ++(*degrees)[node]);
  };
  for (const BipartiteEdge& edge : edges) {
    count(&sources, edge.source);
    count(&sinks, edge.sink);
  }
  return most;
}

std::vector<uint32_t> ColorEdges(std::span<const BipartiteEdge> edges) {
  uint32_t num_sources = 0, num_sinks = 0;
  for (const BipartiteEdge& edge : edges) {
    num_sources = std::max(num_sources, edge.source + 1);
    num_sinks = std::max(num_sinks, edge.sink + 1);
  }
  EdgeColors colors(edges, num_sources, num_sinks);
  for (uint32_t edge = 0; edge < edges.size(); ++edge) colors.Color(edge);
  return colors.Take();
}

}  // namespace fairlead::traffic::edge_coloring
