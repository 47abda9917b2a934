#include "report/topology_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "report/figure_json.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/svg_figure.h"

namespace fairlead::report {

namespace {

constexpr double kLeft = 70;  // holds the names of the tiers
constexpr double kTop = 44;   // holds the legend
constexpr double kTierGap = 110;
constexpr double kLowBox = 22;
constexpr double kTallBox = 74;
constexpr double kPartHeight = 18;
constexpr double kBoxWidthMax = 110;
constexpr size_t kNumLoadSteps = 5;
constexpr double kUprightPixels = 5.6;  // of a letter of class small
constexpr size_t kManyLinks = 300;

struct PlacedNode {
  Box box;
  bool is_upright = false;
};

// 0: none; then quarters.
size_t LoadStep(double load) {
  if (load <= 0) return 0;
  return std::min(kNumLoadSteps - 1, 1 + static_cast<size_t>(std::floor(load * (kNumLoadSteps - 1) - 1e-9)));
}

// In its box: of a run "leaf12–17" instead of "leaf12..leaf17".
std::string ShortName(const std::string& name) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t to = name.find("..");
  if (to == std::string::npos) return name;
  const std::string first = name.substr(0, to), last = name.substr(to + 2);
  const size_t kind = first.find_last_not_of(kDigits) + 1, last_kind = last.find_last_not_of(kDigits) + 1;
  const bool are_alike =
      kind < first.size() && last_kind < last.size() && first.substr(0, kind) == last.substr(0, last_kind);
  return are_alike ? first + "–" + last.substr(last_kind) : name;
}

std::string DescribeLink(const PictureLink& link, const std::vector<PictureNode>& nodes) {
  std::string text =
      fmt::format("{} - {}: {}", nodes[link.below].name, nodes[link.above].name, FormatPercent(link.load));
  if (link.num_cables > 1) text += fmt::format(", {} cables", link.num_cables);
  if (link.num_down > 0) text += fmt::format(", {} down", link.num_down);
  if (link.num_degraded > 0) text += fmt::format(", {} degraded", link.num_degraded);
  return text;
}

class TopologyDrawer {
 public:
  TopologyDrawer(const TopologyFigure& figure, const TopologyPicture& picture) : figure_(figure), picture_(picture) {}
  std::string Draw();

 private:
  void PlaceNodes();
  void DrawLegend(SvgFigure* svg) const;
  void DrawLinks(SvgFigure* svg) const;
  void DrawNodes(SvgFigure* svg) const;
  void DrawParts(SvgFigure* svg) const;

  const TopologyFigure& figure_;
  const TopologyPicture& picture_;
  std::vector<PlacedNode> placed_;                                       // [node]
  std::vector<std::pair<PictureTier, std::pair<size_t, size_t>>> rows_;  // from above; [begin, end) of nodes
  double height_ = kTop;
};

void TopologyDrawer::PlaceNodes() {
  placed_.resize(picture_.nodes.size());
  for (size_t end = picture_.nodes.size(); end > 0;) {
    size_t begin = end;
    while (begin > 0 && picture_.nodes[begin - 1].tier == picture_.nodes[end - 1].tier) --begin;
    rows_.push_back({picture_.nodes[begin].tier, {begin, end}});
    end = begin;
  }
  double y = kTop;
  for (const auto& [tier, range] : rows_) {
    const auto [begin, end] = range;
    const double slot = (figure_.width - kLeft - 8) / static_cast<double>(end - begin);
    const double width = std::min(kBoxWidthMax, slot * 0.84);
    bool is_upright = false;
    bool has_parts = false;
    for (size_t i = begin; i < end; ++i) {
      is_upright = is_upright || LabelWidth(ShortName(picture_.nodes[i].name)) + 8 > width;
      has_parts = has_parts || !picture_.nodes[i].part.empty();
    }
    if (has_parts) y += kPartHeight;
    const double height = is_upright ? kTallBox : kLowBox;
    for (size_t i = begin; i < end; ++i) {
      placed_[i].box = {kLeft + slot * (static_cast<double>(i - begin) + 0.5) - width / 2, y, width, height};
      placed_[i].is_upright = is_upright;
    }
    y += height + kTierGap;
  }
  height_ = rows_.empty() ? kTop : y - kTierGap + 8;
}

void TopologyDrawer::DrawLegend(SvgFigure* svg) const {
  constexpr std::array<std::string_view, kNumLoadSteps> kLabels = {"0", "to 25", "to 50", "to 75", "to 100 %"};
  double x = 2;
  svg->AddText({x, 12}, figure_.load_label, "axis-label");
  x += 1.15 * LabelWidth(figure_.load_label) + 12;
  for (size_t step = 0; step < kNumLoadSteps; ++step) {
    svg->AddLine({x, 8}, {x + 22, 8}, fmt::format("wire wide load{}", step));
    svg->AddText({x + 27, 12}, kLabels[step], "tick");
    x += LabelWidth(kLabels[step]) + 44;
  }
  svg->AddLine({x, 8}, {x + 22, 8}, "wire wide down");
  svg->AddText({x + 27, 12}, "a cable is down", "tick");
  x += LabelWidth("a cable is down") + 44;
  svg->AddLine({x, 8}, {x + 22, 8}, "wire wide degraded");
  svg->AddText({x + 27, 12}, "degraded", "tick");
}

// The fullest, and what is not well, over the others.
void TopologyDrawer::DrawLinks(SvgFigure* svg) const {
  double widest = 0;
  for (const PictureLink& link : picture_.links) widest = std::max(widest, link.capacity_bytes_per_s);
  std::vector<size_t> order(picture_.links.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto weight = [&](size_t i) {
    const PictureLink& link = picture_.links[i];
    return (link.num_down > 0 ? 4 : link.num_degraded > 0 ? 2 : 0) + link.load;
  };
  std::ranges::stable_sort(order, {}, weight);
  const bool are_many = picture_.links.size() > kManyLinks;
  for (const size_t i : order) {
    const PictureLink& link = picture_.links[i];
    const Box& below = placed_[link.below].box;
    const Box& above = placed_[link.above].box;
    const double share = widest > 0 ? std::sqrt(link.capacity_bytes_per_s / widest) : 1;
    const std::string_view width = are_many ? "thin" : share > 0.75 ? "wide" : share > 0.45 ? "middle" : "thin";
    const std::string state = link.num_down > 0       ? "down"
                              : link.num_degraded > 0 ? "degraded"
                                                      : fmt::format("load{}", LoadStep(link.load));
    svg->AddPath(LinePath(std::array{Point{below.x + below.width / 2, below.y},
                                     Point{above.x + above.width / 2, above.y + above.height}}),
                 fmt::format("wire {} {}", width, state), DescribeLink(link, picture_.nodes));
  }
}

void TopologyDrawer::DrawNodes(SvgFigure* svg) const {
  for (size_t i = 0; i < picture_.nodes.size(); ++i) {
    const PictureNode& node = picture_.nodes[i];
    const Box& box = placed_[i].box;
    std::string tooltip = node.name;
    for (const std::string& more : {node.part, node.rails}) tooltip += more.empty() ? "" : ", " + more;
    if (node.num_hosts > 0) tooltip += ", " + FormatCount(node.num_hosts, "host");
    svg->AddBox(box, "node", tooltip);
    const Point middle = {box.x + box.width / 2, box.y + box.height / 2};
    if (placed_[i].is_upright) {
      const auto columns = static_cast<size_t>((kTallBox - 6) / kUprightPixels);
      if (box.width >= 9)
        svg->AddVerticalText({middle.x + 3.5, middle.y}, TruncateToWidth(ShortName(node.name), columns), "small");
    } else {
      svg->AddText({middle.x, middle.y + 4}, ShortName(node.name), "", Anchor::kMiddle);
    }
  }
}

// Names of tiers on the left, of parts over their nodes.
void TopologyDrawer::DrawParts(SvgFigure* svg) const {
  for (const auto& [tier, range] : rows_) {
    const Box& first = placed_[range.first].box;
    const size_t count = picture_.num_in_fabric[static_cast<size_t>(tier)];
    svg->AddText({2, first.y + first.height / 2 - 3}, std::string(count == 1 ? Name(tier) : Plural(tier)),
                 "axis-label");
    svg->AddText({2, first.y + first.height / 2 + 12}, FormatCount(count), "tick");
    for (size_t begin = range.first; begin < range.second;) {
      size_t end = begin + 1;
      while (end < range.second && picture_.nodes[end].part == picture_.nodes[begin].part) ++end;
      const double left = placed_[begin].box.x;
      const double right = placed_[end - 1].box.x + placed_[end - 1].box.width;
      const std::string& part = picture_.nodes[begin].part;
      if (!part.empty()) {
        svg->AddLine({left, first.y - 5}, {right, first.y - 5}, "axis");
        if (LabelWidth(part) < right - left)
          svg->AddText({(left + right) / 2, first.y - 9}, part, "tick", Anchor::kMiddle);
      }
      begin = end;
    }
  }
}

std::string TopologyDrawer::Draw() {
  PlaceNodes();
  SvgFigure svg(figure_.width, height_, figure_.title, figure_.description);
  Json data = {{"kind", "network"}};
  data.update(PictureJson(picture_));
  svg.SetData(FigureText(data));
  DrawLegend(&svg);
  DrawLinks(&svg);
  DrawNodes(&svg);
  DrawParts(&svg);
  return svg.Finish();
}

}  // namespace

std::string Draw(const TopologyFigure& figure, const TopologyPicture& picture) {
  return TopologyDrawer(figure, picture).Draw();
}

}  // namespace fairlead::report
