#include "report/schedule_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/axis.h"
#include "report/figure_json.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

constexpr double kLanesTop = 8;
constexpr double kLanesBottom = 40;
constexpr size_t kNumTicks = 13;

std::string TextOf(const ScheduleLane& lane, const ScheduleBlock& block, double end_s) {
  if (!block.text.empty()) return block.text;
  return fmt::format("{}: {} to {}", lane.label, FormatDuration(block.begin_s), FormatDuration(end_s));
}

void DrawLane(const ScheduleFigure& figure, const ScheduleLane& lane, double top, const LinearScale& x,
              SvgFigure& svg) {
  for (const ScheduleBlock& block : lane.blocks) {
    const double end = std::min(block.end_s, figure.end_s);
    if (end <= block.begin_s) continue;
    const double height = figure.lane_height * std::clamp(block.height, 0.0, 1.0);
    const std::string tooltip = TextOf(lane, block, end);
    svg.AddBox({x(block.begin_s), top + figure.lane_height - height, x(end) - x(block.begin_s), height},
               SeriesStyle(lane.color) + (lane.is_faint ? " band" : " dot"), tooltip);
  }
}

std::string DataOf(const ScheduleFigure& figure, const std::vector<Tick>& ticks, const Box& frame) {
  Json lanes = Json::array();
  for (const ScheduleLane& lane : figure.lanes) {
    Json blocks = Json::array();
    for (const ScheduleBlock& block : lane.blocks) {
      blocks.push_back(Json::array({FigureNumber(block.begin_s), FigureNumber(block.end_s), FigureNumber(block.height),
                                    TextOf(lane, block, block.end_s)}));
    }
    lanes.push_back({{"label", lane.label}, {"blocks", std::move(blocks)}});
  }
  return FigureText({{"kind", "schedule"},
                     {"x", FigureAxis(figure.time_label, {0, figure.end_s}, ticks)},
                     {"frame", FigureFrame(frame)},
                     {"lanes", std::move(lanes)}});
}

}  // namespace

std::string Draw(const ScheduleFigure& figure) {
  double label_width = 0;
  for (const ScheduleLane& lane : figure.lanes) label_width = std::max(label_width, LabelWidth(lane.label));
  const double left = label_width + 12;
  const double lane_step = figure.lane_height + figure.lane_gap;
  const double bottom = kLanesTop + static_cast<double>(figure.lanes.size()) * lane_step;
  const LinearScale x({0, figure.end_s}, {left, figure.width - 12});
  SvgFigure svg(figure.width, bottom + kLanesBottom, figure.title, figure.description);
  const std::vector<Tick> ticks = figure.ticks.empty() ? PlanTicks({0, figure.end_s}, kNumTicks) : figure.ticks;
  svg.SetData(DataOf(figure, ticks, {left, kLanesTop, figure.width - 12 - left, bottom - kLanesTop}));
  for (const Tick& tick : ticks) {
    svg.AddLine({x(tick.value), kLanesTop}, {x(tick.value), bottom}, "grid");
    svg.AddText({x(tick.value), bottom + 16}, tick.label, "tick", Anchor::kMiddle);
  }
  for (size_t i = 0; i < figure.lanes.size(); ++i) {
    const double top = kLanesTop + static_cast<double>(i) * lane_step;
    svg.AddText({left - 8, top + figure.lane_height / 2 + 4.4}, figure.lanes[i].label, "tick", Anchor::kEnd);
    DrawLane(figure, figure.lanes[i], top, x, svg);
  }
  svg.AddLine({left, bottom}, {figure.width - 12, bottom}, "axis");
  svg.AddText({figure.width - 12, bottom + 34}, figure.time_label, "axis-label", Anchor::kEnd);
  return svg.Finish();
}

}  // namespace fairlead::report
