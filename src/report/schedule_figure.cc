#include "report/schedule_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/axis.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

constexpr double kLanesTop = 8;
constexpr double kLanesBottom = 40;
constexpr double kLaneHeight = 22;
constexpr double kLaneGap = 6;
constexpr size_t kNumTicks = 13;

void DrawLane(const ScheduleLane& lane, double top, double end_s, const LinearScale& x, SvgFigure& svg) {
  for (const ScheduleBlock& block : lane.blocks) {
    const double end = std::min(block.end_s, end_s);
    if (end <= block.begin_s) continue;
    const double height = kLaneHeight * std::clamp(block.height, 0.0, 1.0);
    const std::string tooltip =
        fmt::format("{}: {} to {}", lane.label, FormatDuration(block.begin_s), FormatDuration(end));
    svg.AddBox({x(block.begin_s), top + kLaneHeight - height, x(end) - x(block.begin_s), height},
               SeriesStyle(lane.color) + (lane.is_faint ? " band" : " dot"), tooltip);
  }
}

}  // namespace

std::string Draw(const ScheduleFigure& figure) {
  double label_width = 0;
  for (const ScheduleLane& lane : figure.lanes) label_width = std::max(label_width, LabelWidth(lane.label));
  const double left = label_width + 12;
  const double bottom = kLanesTop + static_cast<double>(figure.lanes.size()) * (kLaneHeight + kLaneGap);
  const LinearScale x({0, figure.end_s}, {left, figure.width - 12});
  SvgFigure svg(figure.width, bottom + kLanesBottom, figure.title, figure.description);
  for (const Tick& tick : PlanTicks({0, figure.end_s}, kNumTicks)) {
    svg.AddLine({x(tick.value), kLanesTop}, {x(tick.value), bottom}, "grid");
    svg.AddText({x(tick.value), bottom + 16}, tick.label, "tick", Anchor::kMiddle);
  }
  for (size_t i = 0; i < figure.lanes.size(); ++i) {
    const double top = kLanesTop + static_cast<double>(i) * (kLaneHeight + kLaneGap);
    svg.AddText({left - 8, top + kLaneHeight * 0.7}, figure.lanes[i].label, "tick", Anchor::kEnd);
    DrawLane(figure.lanes[i], top, figure.end_s, x, svg);
  }
  svg.AddLine({left, bottom}, {figure.width - 12, bottom}, "axis");
  svg.AddText({figure.width - 12, bottom + 34}, "seconds", "axis-label", Anchor::kEnd);
  return svg.Finish();
}

}  // namespace fairlead::report
