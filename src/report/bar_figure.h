// A figure of bars in groups: one colour per series, one group per case.
#pragma once

#include <string>
#include <vector>

#include "report/axis.h"

namespace fairlead::report {

struct BarGroup {
  std::string label;           // under the group; each part between line breaks on its own line
  std::vector<double> values;  // [series]; a value that is not finite leaves a gap
  std::vector<double> marks;   // [series] or empty: a short line at another value, such as a published one
};

struct BarFigure {
  std::string title;
  std::string description;
  std::string y_label;
  Interval y_domain;
  std::vector<std::string> series;  // labels of the legend
  std::string mark_label;           // what marks are, for the legend
  std::vector<BarGroup> groups;
  double width = 1080;
  double height = 320;
};

// Values outside of the domain are drawn at its border.
std::string Draw(const BarFigure& figure);

}  // namespace fairlead::report
