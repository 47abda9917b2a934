#include "report/line_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/figure_json.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr double kLineMarginTop = 26;  // holds the y axis label
constexpr double kLineMarginBottom = 44;
constexpr double kLineMarginLeft = 52;
constexpr double kLabelGap = 15;  // between two labels at the ends of curves
constexpr size_t kEndLabelColumns = 18;
constexpr size_t kMarkLabelColumns = 30;
constexpr double kNotchHeight = 7;
constexpr double kSmallLabel = 0.85;  // width of a small label, of that of others
constexpr size_t kNumXTicks = 8;
constexpr size_t kNumYTicks = 6;

// Inner frame and the two scales of a figure.
struct LinePlot {
  Box frame;
  Interval x_domain, y_domain;
  LinearScale x, y;

  Point At(double x_value, double y_value) const {
    return {x(std::clamp(x_value, x_domain.low, x_domain.high)), y(std::clamp(y_value, y_domain.low, y_domain.high))};
  }
};

LinePlot MakeLinePlot(const LineFigure& figure) {
  double label_width = 0;
  for (const LineSeries& series : figure.series) {
    label_width = std::max(label_width, LabelWidth(TruncateToWidth(series.label, kEndLabelColumns)));
  }
  const Box frame = {kLineMarginLeft, kLineMarginTop, figure.width - kLineMarginLeft - label_width - 20,
                     figure.height - kLineMarginTop - kLineMarginBottom};
  return {frame, figure.x_domain, figure.y_domain, LinearScale(figure.x_domain, {frame.x, frame.x + frame.width}),
          LinearScale(figure.y_domain, {frame.y + frame.height, frame.y})};
}

void DrawAxes(const LineFigure& figure, const LinePlot& plot, SvgFigure& svg) {
  const double bottom = plot.frame.y + plot.frame.height;
  const double right = plot.frame.x + plot.frame.width;
  for (const Tick& tick : figure.y_ticks) {
    const double y = plot.y(tick.value);
    svg.AddLine({plot.frame.x, y}, {right, y}, "grid");
    svg.AddText({plot.frame.x - 8, y + 4}, tick.label, "tick", Anchor::kEnd);
  }
  for (const Tick& tick : figure.x_ticks) {
    const double x = plot.x(tick.value);
    svg.AddLine({x, bottom}, {x, bottom + 5}, "axis");
    svg.AddText({x, bottom + 19}, tick.label, "tick", Anchor::kMiddle);
  }
  svg.AddLine({plot.frame.x, bottom}, {right, bottom}, "axis");
  svg.AddText({2, 12}, figure.y_label, "axis-label");
  svg.AddText({right, bottom + 37}, figure.x_label, "axis-label", Anchor::kEnd);
}

// Stretches of points with a finite y.
template <class Visit>
void ForEachStretch(const std::vector<Point>& points, Visit visit) {
  size_t begin = 0;
  while (begin < points.size()) {
    size_t end = begin;
    while (end < points.size() && std::isfinite(points[end].y)) ++end;
    if (end > begin) visit(begin, end);
    begin = end + 1;
  }
}

void DrawBand(const LineSeries& series, const LinePlot& plot, SvgFigure& svg) {
  if (series.band_low.size() != series.points.size() || series.band_high.size() != series.points.size()) return;
  ForEachStretch(series.points, [&](size_t begin, size_t end) {
    std::vector<Point> lower, upper;
    for (size_t i = begin; i < end; ++i) {
      lower.push_back(plot.At(series.points[i].x, series.band_low[i]));
      upper.push_back(plot.At(series.points[i].x, series.band_high[i]));
    }
    svg.AddPath(BandPath(upper, lower), SeriesStyle(series.color) + " band");
  });
}

void DrawCurve(const LineSeries& series, const LinePlot& plot, SvgFigure& svg) {
  ForEachStretch(series.points, [&](size_t begin, size_t end) {
    std::vector<Point> pixels;
    for (size_t i = begin; i < end; ++i) pixels.push_back(plot.At(series.points[i].x, series.points[i].y));
    if (pixels.size() == 1) {
      svg.AddDot(pixels.front(), 2.5, SeriesStyle(series.color) + " dot");
    } else {
      svg.AddPath(LinePath(pixels, series.stepped), SeriesStyle(series.color) + " curve");
    }
  });
}

// Heights of the labels at the ends of the curves, moved apart so that none covers another.
std::vector<double> PlaceLabels(const LineFigure& figure, const LinePlot& plot) {
  std::vector<double> heights;
  for (const LineSeries& series : figure.series) {
    double y = plot.y(plot.y_domain.low);
    for (const Point& point : series.points) {
      if (std::isfinite(point.y)) y = plot.At(point.x, point.y).y;
    }
    heights.push_back(y);
  }
  std::vector<size_t> order(heights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&heights](size_t a, size_t b) { return heights[a] < heights[b]; });
  for (size_t i = 1; i < order.size(); ++i) {
    heights[order[i]] = std::max(heights[order[i]], heights[order[i - 1]] + kLabelGap);
  }
  // What was pushed below the frame comes back up.
  double lowest = plot.frame.y + plot.frame.height;
  for (size_t i = order.size(); i-- > 0;) {
    heights[order[i]] = std::min(heights[order[i]], lowest);
    lowest = heights[order[i]] - kLabelGap;
  }
  return heights;
}

void DrawMarks(const LineFigure& figure, const LinePlot& plot, SvgFigure& svg) {
  const double bottom = plot.frame.y + plot.frame.height;
  double next = plot.frame.x;  // where there is room for a label
  for (const LineMark& mark : figure.marks) {
    if (mark.x < plot.x_domain.low || mark.x > plot.x_domain.high) continue;
    const double x = plot.x(mark.x);
    svg.AddLine({x, plot.frame.y - 4}, {x, bottom}, "event");
    const std::string label = TruncateToWidth(mark.label, kMarkLabelColumns);
    const double width = kSmallLabel * LabelWidth(label);
    if (x < next || x + width > figure.width) continue;
    svg.AddText({x + 3, plot.frame.y - 6}, label, "tick small mark-label");
    next = x + width + 6;
  }
  for (const double notch : figure.notches) {
    if (notch < plot.x_domain.low || notch > plot.x_domain.high) continue;
    svg.AddLine({plot.x(notch), bottom - kNotchHeight}, {plot.x(notch), bottom}, "notch");
  }
}

std::string DataOf(const LineFigure& figure, const LinePlot& plot) {
  Json list = Json::array();
  for (const LineSeries& series : figure.series) {
    std::vector<double> x, y;
    for (const Point& point : series.points) {
      x.push_back(point.x);
      y.push_back(point.y);
    }
    Json one = {{"label", series.label},
                {"color", series.color % kNumSeriesColors},
                {"x", FigureNumbers(x)},
                {"y", FigureNumbers(y)}};
    if (series.band_low.size() == x.size() && series.band_high.size() == x.size() && !x.empty()) {
      one["low"] = FigureNumbers(series.band_low);
      one["high"] = FigureNumbers(series.band_high);
    }
    if (series.stepped) one["stepped"] = true;
    list.push_back(std::move(one));
  }
  return FigureText({{"kind", "line"},
                     {"timeline", figure.is_timeline},
                     {"x", FigureAxis(figure.x_label, figure.x_domain, figure.x_ticks)},
                     {"y", FigureAxis(figure.y_label, figure.y_domain, figure.y_ticks)},
                     {"frame", FigureFrame(plot.frame)},
                     {"series", std::move(list)}});
}

}  // namespace

std::string SeriesStyle(size_t index) { return fmt::format("series s{}", index % kNumSeriesColors); }

void FitAxes(LineFigure* figure) {
  figure->x_domain = {0, 0};
  figure->y_domain = {0, 0};
  for (const LineSeries& series : figure->series) {
    for (const Point& point : series.points) {
      if (!std::isfinite(point.y)) continue;
      figure->x_domain.high = std::max(figure->x_domain.high, point.x);
      figure->y_domain.high = std::max(figure->y_domain.high, point.y);
    }
  }
  figure->x_ticks = PlanTicks(figure->x_domain, kNumXTicks);
  figure->y_ticks = PlanTicks(figure->y_domain, kNumYTicks);
}

std::string Draw(const LineFigure& figure) {
  SvgFigure svg(figure.width, figure.height, figure.title, figure.description);
  const LinePlot plot = MakeLinePlot(figure);
  svg.SetData(DataOf(figure, plot));
  DrawAxes(figure, plot, svg);
  DrawMarks(figure, plot, svg);
  for (const LineSeries& series : figure.series) DrawBand(series, plot, svg);
  for (const LineSeries& series : figure.series) DrawCurve(series, plot, svg);
  const std::vector<double> heights = PlaceLabels(figure, plot);
  for (size_t i = 0; i < figure.series.size(); ++i) {
    svg.AddText({plot.frame.x + plot.frame.width + 8, heights[i] + 4},
                TruncateToWidth(figure.series[i].label, kEndLabelColumns),
                SeriesStyle(figure.series[i].color) + " curve-label");
  }
  return svg.Finish();
}

std::vector<LineFigure> SplitByColors(const LineFigure& figure) {
  if (figure.series.size() <= kNumSeriesColors) return {figure};
  constexpr size_t kOthers = kNumSeriesColors - 1;
  const size_t num_figures = (figure.series.size() - 1 + kOthers - 1) / kOthers;
  std::vector<LineFigure> figures(num_figures, figure);
  for (size_t f = 0; f < num_figures; ++f) {
    const size_t first = 1 + f * kOthers, last = std::min(first + kOthers, figure.series.size());
    figures[f].title += fmt::format(" ({} of {})", f + 1, num_figures);
    figures[f].series = {figure.series.front()};
    figures[f].series.insert(figures[f].series.end(), figure.series.begin() + static_cast<ptrdiff_t>(first),
                             figure.series.begin() + static_cast<ptrdiff_t>(last));
  }
  return figures;
}

}  // namespace fairlead::report
