// Which moments of a trace are simulated, chosen by how many GPUs its jobs hold and by nothing else.
//
// Rule        at each full hour from the second day on (the first day begins with an empty cluster) count the GPUs of
//             the jobs that have arrived and not ended. In ascending order of GPUs, then of hours, a moment is the hour
//             at a given share of the way: 1 is the busiest, 0.5 the median, 0.1 quiet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/scenario.h"

namespace fairlead::experiments::crux_trace_grid {

struct TraceWindow {
  std::string name;
  double at_s = 0;  // since the trace began
  uint64_t num_gpus = 0;
  uint32_t num_jobs = 0;
};

struct WindowRule {
  std::string name;
  double rank = 1;  // 0..1
};

// Args: jobs with arrival and hold time, at least two days of them. Returns one window for each rule, in their order.
// Cost: O(jobs x hours).
std::vector<TraceWindow> ChooseWindows(std::span<const sim::ScenarioJob> jobs, double length_s,
                                       std::span<const WindowRule> rules);

// Leaves the jobs that hold GPUs at that moment, all begun at 0 in order of arrival, none of them ending.
std::vector<sim::ScenarioJob> JobsAt(std::span<const sim::ScenarioJob> jobs, double at_s);

}  // namespace fairlead::experiments::crux_trace_grid
