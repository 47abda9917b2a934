// The cells of the grid and what each of them gives: fabric x oversubscription x queue pairs x placement x window,
// every policy on the same draws.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "experiment/experiment.h"
#include "experiments/crux-trace-grid/statements.h"
#include "experiments/crux-trace-grid/trace_windows.h"
#include "sim/run_result.h"

namespace fairlead::experiments::crux_trace_grid {

// Queue pairs of a connection. More of them take longer to simulate, so they are simulated for less time.
struct QueuePairs {
  uint32_t count = 1;
  double simulated_s = 0;
};

// What is crossed with what.
struct GridAxes {
  std::vector<std::string> fabrics;  // "clos", "double-sided"
  std::vector<double> oversubscriptions;
  std::vector<QueuePairs> queue_pairs;
  std::vector<std::string> placements;
  std::vector<WindowRule> windows;
  uint32_t num_draws = 0;  // hosts (where they are drawn), hashes and phases

  size_t num_cells() const {
    return fabrics.size() * oversubscriptions.size() * queue_pairs.size() * placements.size() * windows.size();
  }
};

struct GridCell {
  std::string fabric;
  double oversubscription = 1;
  uint32_t queue_pairs = 1;
  std::string placement;
  std::string window;

  // "4:1, 1 QP, random, busiest".
  std::string Label() const;
};

struct CellResult {
  GridCell cell;
  CellDraws draws;
  double alone = 0;  // % busy if every job were alone, mean over the draws
};

struct GridResult {
  std::vector<TraceWindow> windows;
  std::vector<CellResult> cells;  // fabrics outermost, windows innermost
  bool is_partial = false;        // stopped: the last cells are missing
};

// Errors: those of the scenario and of its runs.
Result<GridResult> RunGrid(const GridAxes& axes, const experiment::RunContext& context);

// By policy and draw, in whatever order the runs are. Of busy the first quarter is dropped: jobs begin out of step, and
// most of them compute. Args: all policies with the same draws, all runs complete, kNumBins bins.
inline constexpr uint32_t kNumBins = 4;
CellDraws DrawsOf(const sim::SimulationReport& report);

}  // namespace fairlead::experiments::crux_trace_grid
