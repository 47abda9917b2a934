// What `fairlead sim fwl` prints: the JSON other programs rely on, and a line for people.
#pragma once

#include <string>

#include "sim/fwl_runner.h"

namespace fairlead::sim {

// {"end_s", "mean_iteration_s", "completions", "cpu_s", "peak_rss_mb"}, numbers to 9 decimals, with a final newline.
std::string RenderFwlJson(const FwlResult& result, double peak_rss_mb);
// A few lines: simulated end, mean iteration, completions and their rate, CPU and parse seconds, memory.
std::string RenderFwlText(const FwlResult& result, double parse_s, double peak_rss_mb);

}  // namespace fairlead::sim
