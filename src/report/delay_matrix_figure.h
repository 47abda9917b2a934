// The delay matrix of a job as a figure: sources are rows, destinations columns, colour is time per byte over what is
// usual, and what a finding names is marked.
//
// Readable at any size: with more than `num_lines_max` ranks, hosts are the lines, then groups of neighbouring hosts. A
// cell of a group has the slowest of its transfers, so that one slow connection does not vanish among healthy ones.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/heat_map_figure.h"

namespace fairlead::report {

struct DelayMatrixCell {
  uint32_t source = 0;       // rank
  uint32_t destination = 0;  // rank
  double delay = 0;          // > 0; any unit
};

struct DelayMatrixFigure {
  std::string title;
  std::vector<uint32_t> host_of;        // [rank]
  std::vector<std::string> host_names;  // [host]
  std::vector<DelayMatrixCell> cells;   // pairs that were measured, in any order
  // Culprits: ranks with a marked row or column, pairs with a marked cell.
  std::vector<uint32_t> marked_sources;
  std::vector<uint32_t> marked_destinations;
  std::vector<std::pair<uint32_t, uint32_t>> marked_pairs;
  size_t num_lines_max = 64;
};

// The colour scale ends at this many times the median, or at the slowest cell if that is less than twice it.
inline constexpr double kDelayScaleMax = 4;

// What is drawn: for tests of what a figure says, and for figures of several panels. Cost: O(cells log cells).
HeatMapFigure ArrangeDelays(const DelayMatrixFigure& figure);

std::string Draw(const DelayMatrixFigure& figure);

}  // namespace fairlead::report
