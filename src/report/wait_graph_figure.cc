#include "report/wait_graph_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/svg_figure.h"

namespace fairlead::report {

namespace {

constexpr size_t kUnreached = std::numeric_limits<size_t>::max();
constexpr size_t kNumLayersMax = 7;
constexpr double kNodeHeight = 26;
constexpr double kRowHeight = 38;
constexpr double kLayerGap = 56;
constexpr double kNodeWidthMax = 230;
constexpr double kMargin = 4;

using Edges = std::vector<std::pair<uint32_t, uint32_t>>;

// "0–3, 7 and more"
std::string ListRanks(std::vector<uint32_t> ranks) {
  constexpr size_t kNumRangesShown = 3;
  std::sort(ranks.begin(), ranks.end());
  std::string list;
  size_t num_ranges = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (num_ranges++ == kNumRangesShown) return list + ", …";
    const std::string range =
        end - i == 1 ? fmt::format("{}", ranks[i]) : fmt::format("{}–{}", ranks[i], ranks[end - 1]);
    list += (list.empty() ? "" : ", ") + range;
    i = end;
  }
  return list;
}

WaitNode MergeNodes(const std::vector<WaitNode>& nodes, const std::vector<uint32_t>& members) {
  WaitNode merged = nodes[members.front()];
  if (members.size() == 1) return merged;
  std::vector<uint32_t> ranks;
  for (const uint32_t member : members) {
    if (!nodes[member].is_operation) ranks.push_back(nodes[member].rank);
    merged.is_culprit = merged.is_culprit || nodes[member].is_culprit;
  }
  merged.is_operation = ranks.empty();
  merged.label = ranks.empty() ? FormatCount(members.size(), "operation")
                               : fmt::format("{}: {}", FormatCount(ranks.size(), "rank"), ListRanks(ranks));
  return merged;
}

// Groups given per node become nodes.
WaitGraphFigure MergeGroups(const WaitGraphFigure& figure, const std::vector<uint32_t>& group_of, size_t num_groups) {
  WaitGraphFigure merged = figure;
  std::vector<std::vector<uint32_t>> members(num_groups);
  for (uint32_t node = 0; node < figure.nodes.size(); ++node) members[group_of[node]].push_back(node);
  merged.nodes.clear();
  for (const std::vector<uint32_t>& group : members) merged.nodes.push_back(MergeNodes(figure.nodes, group));
  std::set<std::pair<uint32_t, uint32_t>> edges;
  for (const auto& [from, to] : figure.edges) {
    if (group_of[from] != group_of[to]) edges.emplace(group_of[from], group_of[to]);
  }
  merged.edges.assign(edges.begin(), edges.end());
  return merged;
}

WaitGraphFigure FoldAlike(const WaitGraphFigure& figure) {
  std::vector<std::pair<std::set<uint32_t>, std::set<uint32_t>>> around(figure.nodes.size());
  for (const auto& [from, to] : figure.edges) {
    around[from].first.insert(to);
    around[to].second.insert(from);
  }
  using Likeness = std::tuple<bool, uint32_t, std::set<uint32_t>, std::set<uint32_t>>;
  std::map<Likeness, uint32_t> groups;
  std::vector<uint32_t> group_of(figure.nodes.size());
  for (uint32_t node = 0; node < figure.nodes.size(); ++node) {
    const uint32_t own = figure.nodes[node].is_culprit ? node + 1 : 0;  // culprits differ from all
    Likeness likeness = {figure.nodes[node].is_operation, own, around[node].first, around[node].second};
    group_of[node] = groups.try_emplace(std::move(likeness), static_cast<uint32_t>(groups.size())).first->second;
  }
  return MergeGroups(figure, group_of, groups.size());
}

// Keeps the nodes nearest to the culprits; the others become one.
WaitGraphFigure FoldFarthest(const WaitGraphFigure& figure) {
  const std::vector<size_t> layers = LayersOf(figure);
  std::vector<uint32_t> order(figure.nodes.size());
  for (uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(!figure.nodes[a].is_culprit, layers[a]) < std::pair(!figure.nodes[b].is_culprit, layers[b]);
  });
  const size_t num_kept = figure.num_nodes_max - 1;
  std::vector<uint32_t> group_of(figure.nodes.size());
  for (size_t i = 0; i < order.size(); ++i) group_of[order[i]] = static_cast<uint32_t>(std::min(i, num_kept));
  WaitGraphFigure folded = MergeGroups(figure, group_of, num_kept + 1);
  folded.nodes.back().label = "and " + folded.nodes.back().label;
  return folded;
}

// Places of nodes: layer 0, what is waited for, at the right.
std::vector<Box> PlaceNodes(const WaitGraphFigure& figure, double* height) {
  std::vector<size_t> layers = LayersOf(figure);
  for (size_t& layer : layers) layer = std::min(layer, kNumLayersMax - 1);
  const size_t num_layers = layers.empty() ? 1 : *std::max_element(layers.begin(), layers.end()) + 1;
  std::vector<size_t> sizes(num_layers, 0);
  for (const size_t layer : layers) ++sizes[layer];
  const size_t most = *std::max_element(sizes.begin(), sizes.end());
  *height = kRowHeight * static_cast<double>(std::max<size_t>(most, 1)) + 2 * kMargin;
  const auto count = static_cast<double>(num_layers);
  const double width = std::min(kNodeWidthMax, (figure.width - 2 * kMargin - kLayerGap * (count - 1)) / count);
  std::vector<size_t> used(num_layers, 0);
  std::vector<Box> boxes;
  for (const size_t layer : layers) {
    const double free = *height - kRowHeight * static_cast<double>(sizes[layer]);
    const double y = free / 2 + kRowHeight * static_cast<double>(used[layer]++) + (kRowHeight - kNodeHeight) / 2;
    const double x = kMargin + (width + kLayerGap) * static_cast<double>(num_layers - 1 - layer);
    boxes.push_back({x, y, width, kNodeHeight});
  }
  return boxes;
}

void DrawEdge(const Box& from, const Box& to, SvgFigure& svg) {
  const bool goes_right = from.x < to.x;
  // Within a layer and backwards, the arrow leaves and enters at the right side.
  const Point begin = {from.x + from.width, from.y + from.height / 2};
  const Point end = {goes_right ? to.x : to.x + to.width, to.y + to.height / 2};
  const double bend = goes_right ? (end.x - begin.x) / 2 : kLayerGap * 0.7;
  const double tip = goes_right ? -6 : 6;
  svg.AddPath(fmt::format("M{} {}C{} {} {} {} {} {}", FormatCoordinate(begin.x), FormatCoordinate(begin.y),
                          FormatCoordinate(begin.x + bend), FormatCoordinate(begin.y),
                          FormatCoordinate(end.x + (goes_right ? -bend : bend)), FormatCoordinate(end.y),
                          FormatCoordinate(end.x + tip), FormatCoordinate(end.y)),
              "edge");
  const std::vector<Point> head = {end, {end.x + tip * 1.2, end.y - 3.5}, {end.x + tip * 1.2, end.y + 3.5}, end};
  svg.AddPath(LinePath(head), "arrow");
}

}  // namespace

std::vector<size_t> LayersOf(const WaitGraphFigure& figure) {
  const size_t num_nodes = figure.nodes.size();
  std::vector<std::vector<uint32_t>> waiting(num_nodes);  // [node] its waiters
  std::vector<bool> waits(num_nodes, false);
  for (const auto& [from, to] : figure.edges) {
    FL_CHECK(from < num_nodes && to < num_nodes);
    waiting[to].push_back(from);
    waits[from] = true;
  }
  const bool has_culprit =
      std::any_of(figure.nodes.begin(), figure.nodes.end(), [](const WaitNode& node) { return node.is_culprit; });
  std::vector<size_t> layers(num_nodes, kUnreached);
  std::vector<uint32_t> queue;
  for (uint32_t node = 0; node < num_nodes; ++node) {
    if (has_culprit ? figure.nodes[node].is_culprit : !waits[node]) {
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

WaitGraphFigure Fold(const WaitGraphFigure& figure) {
  FL_CHECK(figure.num_nodes_max >= 2);
  WaitGraphFigure folded = FoldAlike(figure);
  return folded.nodes.size() <= folded.num_nodes_max ? folded : FoldFarthest(folded);
}

std::string Draw(const WaitGraphFigure& figure) {
  const WaitGraphFigure folded = Fold(figure);
  double height = 0;
  const std::vector<Box> boxes = PlaceNodes(folded, &height);
  SvgFigure svg(folded.width, height, folded.title, folded.description);
  for (const auto& [from, to] : folded.edges) DrawEdge(boxes[from], boxes[to], svg);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const WaitNode& node = folded.nodes[i];
    const std::string kind = node.is_operation ? " operation" : "";
    svg.AddBox(boxes[i], "node" + kind + (node.is_culprit ? " culprit" : ""), node.label);
    const auto columns = static_cast<size_t>(std::max(4.0, (boxes[i].width - 12) / LabelWidth("x")));
    svg.AddText({boxes[i].x + boxes[i].width / 2, boxes[i].y + 17}, TruncateToWidth(node.label, columns), "tick",
                Anchor::kMiddle);
  }
  return svg.Finish();
}

}  // namespace fairlead::report
