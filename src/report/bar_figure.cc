#include "report/bar_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "report/figure_json.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

constexpr double kMarginTop = 34;  // holds the y axis label and one row of the legend
constexpr double kMarginBottom = 52;
constexpr double kMarginLeft = 52;
constexpr double kMarginRight = 12;
constexpr double kGroupFill = 0.76;  // of a group's width, for its bars
constexpr double kLineHeight = 14;
constexpr double kLegendGap = 18;
constexpr double kBoldWidth = 1.3;  // of a label of the legend, over LabelWidth()
constexpr size_t kNumTicks = 6;

struct Plot {
  Box frame;
  LinearScale y;
  Interval y_domain;

  double At(double value) const { return y(std::clamp(value, y_domain.low, y_domain.high)); }
};

using Legend = std::vector<std::vector<SvgFigure::StyledText>>;  // rows

double MarkWidth(const BarFigure& figure) { return figure.mark_label.empty() ? 0 : LabelWidth(figure.mark_label) + 34; }

// Beside the label of the axis and what marks are.
Legend PlanLegend(const BarFigure& figure) {
  const double width = figure.width - kMarginLeft - kMarginRight - LabelWidth(figure.y_label) - MarkWidth(figure);
  Legend rows(1);
  double used = 0;
  for (size_t s = 0; s < figure.series.size(); ++s) {
    const double needed = kBoldWidth * LabelWidth(figure.series[s]) + kLegendGap;
    if (used + needed > width && !rows.back().empty()) {
      rows.emplace_back();
      used = 0;
    }
    used += needed;
    rows.back().push_back({figure.series[s], SeriesStyle(s) + " curve-label"});
  }
  return rows;
}

void DrawLegend(const BarFigure& figure, const Legend& rows, SvgFigure& svg) {
  const double right = figure.width - kMarginRight;
  if (!figure.mark_label.empty()) {
    svg.AddText({right, 12}, figure.mark_label, "tick", Anchor::kEnd);
    svg.AddBox({right - LabelWidth(figure.mark_label) - 20, 7, 14, 2.5}, "mark");
  }
  for (size_t row = 0; row < rows.size(); ++row) {
    svg.AddTextRow({right - MarkWidth(figure), 12 + static_cast<double>(row) * kLineHeight}, rows[row], kLegendGap);
  }
}

void DrawAxis(const BarFigure& figure, const Plot& plot, SvgFigure& svg) {
  const double right = plot.frame.x + plot.frame.width;
  for (const Tick& tick : PlanTicks(figure.y_domain, kNumTicks)) {
    svg.AddLine({plot.frame.x, plot.y(tick.value)}, {right, plot.y(tick.value)}, "grid");
    svg.AddText({plot.frame.x - 8, plot.y(tick.value) + 4}, tick.label, "tick", Anchor::kEnd);
  }
  svg.AddText({2, 12}, figure.y_label, "axis-label");
}

void DrawLabel(std::string_view label, Point at, SvgFigure& svg) {
  while (!label.empty()) {
    const size_t end = std::min(label.find('\n'), label.size());
    svg.AddText(at, label.substr(0, end), "tick", Anchor::kMiddle);
    label.remove_prefix(std::min(end + 1, label.size()));
    at.y += kLineHeight;
  }
}

void DrawGroup(const BarFigure& figure, const BarGroup& group, double left, double width, const Plot& plot,
               SvgFigure& svg) {
  const double bar = width * kGroupFill / static_cast<double>(figure.series.size());
  const double first = left + width * (1 - kGroupFill) / 2;
  const double bottom = plot.frame.y + plot.frame.height;
  for (size_t s = 0; s < group.values.size(); ++s) {
    const double x = first + static_cast<double>(s) * bar;
    if (std::isfinite(group.values[s])) {
      const double top = plot.At(group.values[s]);
      svg.AddBox({x, top, bar * 0.92, bottom - top}, SeriesStyle(s) + " dot",
                 fmt::format("{}: {}", figure.series[s], FormatShort(group.values[s])));
    }
    if (s < group.marks.size() && std::isfinite(group.marks[s])) {
      svg.AddBox({x - bar * 0.04, plot.At(group.marks[s]) - 1.25, bar, 2.5}, "mark",
                 fmt::format("{}, {}: {}", figure.series[s], figure.mark_label, FormatShort(group.marks[s])));
    }
  }
  DrawLabel(group.label, {left + width / 2, bottom + 17}, svg);
}

std::string DataOf(const BarFigure& figure) {
  Json groups = Json::array();
  for (const BarGroup& group : figure.groups) {
    std::string label = group.label;
    std::replace(label.begin(), label.end(), '\n', ' ');
    groups.push_back(
        {{"label", label}, {"values", FigureNumbers(group.values)}, {"marks", FigureNumbers(group.marks)}});
  }
  return FigureText({{"kind", "bar"}, {"series", figure.series}, {"groups", std::move(groups)}});
}

}  // namespace

std::string Draw(const BarFigure& figure) {
  FL_CHECK(!figure.series.empty());
  SvgFigure svg(figure.width, figure.height, figure.title, figure.description);
  svg.SetData(DataOf(figure));
  const Legend legend = PlanLegend(figure);
  const double top = kMarginTop + static_cast<double>(legend.size() - 1) * kLineHeight;
  const Box frame = {kMarginLeft, top, figure.width - kMarginLeft - kMarginRight, figure.height - top - kMarginBottom};
  const Plot plot{frame, LinearScale(figure.y_domain, {frame.y + frame.height, frame.y}), figure.y_domain};
  DrawAxis(figure, plot, svg);
  DrawLegend(figure, legend, svg);
  const double width = frame.width / static_cast<double>(std::max<size_t>(figure.groups.size(), 1));
  for (size_t g = 0; g < figure.groups.size(); ++g) {
    FL_CHECK(figure.groups[g].values.size() == figure.series.size());
    DrawGroup(figure, figure.groups[g], frame.x + static_cast<double>(g) * width, width, plot, svg);
  }
  svg.AddLine({frame.x, frame.y + frame.height}, {frame.x + frame.width, frame.y + frame.height}, "axis");
  return svg.Finish();
}

}  // namespace fairlead::report
