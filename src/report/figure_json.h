// For figures: their numbers as JSON (figure_data.h).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/axis.h"
#include "report/json_value.h"
#include "report/svg_figure.h"

namespace fairlead::report {

// Six significant digits; null: it is not finite.
Json FigureNumber(double value);
Json FigureNumbers(const std::vector<double>& values);
Json FigureAxis(const std::string& label, Interval domain, const std::vector<Tick>& ticks);
Json FigureFrame(const Box& frame);
// One line; broken UTF-8 becomes U+FFFD.
std::string FigureText(const Json& json);

}  // namespace fairlead::report
