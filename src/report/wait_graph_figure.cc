#include "report/wait_graph_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "report/figure_json.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/svg_figure.h"

namespace fairlead::report {

namespace {

constexpr size_t kNumLayersMax = 7;
constexpr double kNodeHeight = 26;
constexpr double kRowHeight = 38;
constexpr double kLayerGap = 56;
constexpr double kNodeWidthMax = 230;
constexpr double kMargin = 4;

// "0–3, 7 and more"
std::string ListRanks(const std::vector<model::RankId>& ranks) {
  constexpr size_t kNumRangesShown = 3;
  std::string list;
  size_t num_ranges = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end].value() == ranks[end - 1].value() + 1) ++end;
    if (num_ranges++ == kNumRangesShown) return list + ", …";
    const std::string range = end - i == 1 ? fmt::format("{}", ranks[i].value())
                                           : fmt::format("{}–{}", ranks[i].value(), ranks[end - 1].value());
    list += (list.empty() ? "" : ", ") + range;
    i = end;
  }
  return list;
}

// Places of nodes: layer 0, what is waited for, at the right.
std::vector<Box> PlaceNodes(const model::WaitPicture& waits, double full_width, double* height) {
  std::vector<size_t> layers = model::LayersOf(waits);
  for (size_t& layer : layers) layer = std::min(layer, kNumLayersMax - 1);
  const size_t num_layers = layers.empty() ? 1 : *std::max_element(layers.begin(), layers.end()) + 1;
  std::vector<size_t> sizes(num_layers, 0);
  for (const size_t layer : layers) ++sizes[layer];
  const size_t most = *std::max_element(sizes.begin(), sizes.end());
  *height = kRowHeight * static_cast<double>(std::max<size_t>(most, 1)) + 2 * kMargin;
  const auto count = static_cast<double>(num_layers);
  const double width = std::min(kNodeWidthMax, (full_width - 2 * kMargin - kLayerGap * (count - 1)) / count);
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

std::string DataOf(const model::WaitPicture& waits) {
  Json nodes = Json::array();
  for (const model::WaitNode& node : waits.nodes) {
    nodes.push_back({{"label", LabelOf(node)}, {"operation", node.ranks.empty()}, {"culprit", node.is_culprit}});
  }
  Json edges = Json::array();
  for (const auto& [from, to] : waits.edges) edges.push_back(Json::array({from, to}));
  return FigureText({{"kind", "waits"}, {"nodes", std::move(nodes)}, {"waits", std::move(edges)}});
}

}  // namespace

std::string LabelOf(const model::WaitNode& node) {
  const std::string rest = node.is_rest ? "and " : "";
  if (!node.label.empty() && !node.is_rest) return node.label;
  if (node.ranks.empty()) return rest + FormatCount(node.num_operations, "operation");
  if (node.ranks.size() == 1 && !node.is_rest) return fmt::format("rank {}", node.ranks.front().value());
  return fmt::format("{}{}: {}", rest, FormatCount(node.ranks.size(), "rank"), ListRanks(node.ranks));
}

std::string Draw(const WaitGraphFigure& figure) {
  const model::WaitPicture folded = model::Fold(figure.waits, figure.num_nodes_max);
  double height = 0;
  const std::vector<Box> boxes = PlaceNodes(folded, figure.width, &height);
  SvgFigure svg(figure.width, height, figure.title, figure.description);
  svg.SetData(DataOf(folded));
  for (const auto& [from, to] : folded.edges) DrawEdge(boxes[from], boxes[to], svg);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const model::WaitNode& node = folded.nodes[i];
    const std::string kind = node.ranks.empty() ? " operation" : "";
    const std::string label = LabelOf(node);
    svg.AddBox(boxes[i], "node" + kind + (node.is_culprit ? " culprit" : ""), label);
    const auto columns = static_cast<size_t>(std::max(4.0, (boxes[i].width - 12) / LabelWidth("x")));
    svg.AddText({boxes[i].x + boxes[i].width / 2, boxes[i].y + 17}, TruncateToWidth(label, columns), "tick",
                Anchor::kMiddle);
  }
  return svg.Finish();
}

}  // namespace fairlead::report
