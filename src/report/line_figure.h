// A figure of curves over one axis: one colour and one label at the end of the curve per series.
#pragma once

#include <string>
#include <vector>

#include "report/axis.h"
#include "report/svg_figure.h"

namespace fairlead::report {

// Policies and series are distinguished by this many colours; further ones start over.
inline constexpr size_t kNumSeriesColors = 8;

// "series s3": the style class of the i-th series' colour.
std::string SeriesStyle(size_t index);

struct LineSeries {
  std::string label;
  size_t color = 0;
  // In units of the axes, x ascending. A y that is not finite leaves a gap.
  std::vector<Point> points;
  // Band around the curve at the same x; empty: none.
  std::vector<double> band_low;
  std::vector<double> band_high;
  bool stepped = false;
};

// A moment that all curves share: a line across the figure. Labels that would overlap are left out.
struct LineMark {
  double x = 0;
  std::string label;
};

struct LineFigure {
  std::string title;
  std::string description;
  std::string x_label;
  std::string y_label;
  Interval x_domain;
  Interval y_domain;
  std::vector<Tick> x_ticks;
  std::vector<Tick> y_ticks;
  std::vector<LineSeries> series;
  std::vector<LineMark> marks = {};  // x ascending
  std::vector<double> notches = {};  // moments of less weight: short lines at the axis
  // Whether a time on its axis is a moment, the same in all such figures of a page, and not a duration.
  bool is_timeline = true;
  double width = 1080;
  double height = 300;
};

// Axes from 0 to the greatest finite x and y of the curves, with ticks.
void FitAxes(LineFigure* figure);

// Values outside the domains are drawn at their border.
std::string Draw(const LineFigure& figure);

// The same axes again for each few of the series, so that no two of a figure have the same colour: the first series is
// in all of them. One figure where there are at most kNumSeriesColors.
std::vector<LineFigure> SplitByColors(const LineFigure& figure);

}  // namespace fairlead::report
