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

ScheduleLane SizeLane(const std::string& job, double from_s, double to_s, std::span<const HeldGpus> sizes,
                      uint32_t most_gpus, size_t color) {
  constexpr double kWaitHeight = 0.07;  // of a lane
  constexpr double kLeastHeight = 0.2;
  ScheduleLane lane{.label = job, .color = color, .is_faint = false, .blocks = {}};
  const auto add = [&](double begin_s, double end_s, uint32_t num_gpus) {
    end_s = std::min(end_s, to_s);
    if (end_s <= begin_s) return;
    const std::string what = num_gpus == 0 ? "waits" : FormatCount(num_gpus, "GPU");
    const double share = static_cast<double>(num_gpus) / most_gpus;
    lane.blocks.push_back(
        {.begin_s = begin_s,
         .end_s = end_s,
         .height = num_gpus == 0 ? kWaitHeight : std::max(kLeastHeight, share),
         .text = fmt::format("{}: {} from {} to {}", job, what, FormatDuration(begin_s), FormatDuration(end_s))});
  };
  double since_s = from_s;
  uint32_t num_gpus = 0;
  for (const HeldGpus& change : sizes) {
    add(since_s, change.since_s, num_gpus);
    since_s = change.since_s;
    num_gpus = change.num_gpus;
  }
  add(since_s, to_s, num_gpus);
  return lane;
}

ScheduleFigure SizesFigure(const std::string& policy, size_t num_jobs, uint32_t most_gpus, double end_s) {
  ScheduleFigure figure;
  figure.title = fmt::format("Sizes over time under {}", policy);
  figure.description = fmt::format("GPUs that {} hold over time under {}; a bar is as high as its share of {}.",
                                   FormatCount(num_jobs, "job"), policy, FormatCount(most_gpus, "GPU"));
  figure.end_s = end_s;
  figure.ticks = PlanTimeTicks({0, end_s}, 10);
  figure.time_label = "time";
  figure.width = 1080;
  figure.lane_height = 12;
  figure.lane_gap = 2;
  return figure;
}

}  // namespace fairlead::report
