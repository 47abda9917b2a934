// Which sources, destinations or pairs are slower than the rest, in a matrix of delays that may be sparse?
//
// Problem     D[source][destination] = seconds per byte, known for some pairs. One high row is a source's transmit
//             side, a high column a destination's receive side, one high cell the connection between two. Several at
//             once, and noise in every cell.
// Notation    L = log D;  L ~ mu + r[source] + c[destination] + e[source][destination]
//             z(v) = (v - median) / max(1.4826 MAD, floor), of r, c and e each among its like
// Method      1. median polish of L: row and column medians in turn, at most max_rounds, once rows first and once
//             columns first, and the mean of both; 2. a row (column) is slow with z(r) >= z_line, exp(r) above the
//             other rows by the least effect, and line_share of its cells above the median of their column (row) by
//             that effect; 3. cells of slow rows and columns are set aside; of the others, those with z(e) >= z_point
//             are slow. Only lines that can be distinguished from their cells take part in 1 and 2: line_cells_min
//             cells at least, in columns (rows) of as many. In a ring, where row, column and cell coincide, nothing but
//             cells is named.
// Cost        O(cells x rounds) time, O(cells) space. See BM_DelayMatrix/ranks:16384.
// Guarantees  scaling all delays changes nothing; relabelling relabels; transposing swaps rows and columns.
// Differs     the two orders of step 1, which the page does not ask for: with one alone, transposing would not quite
//             swap rows and columns. The least effect is asked of the line itself, too.
// Reference   Dong et al., C4, HPCA 2025, delay matrix; docs/spec/c4.md sections 5.1 to 5.3 (the scores are ours).
// Oracle      delay_matrix_test: a dense twin with sorted medians.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fairlead::diagnosis::c4d {

struct DelayCell {
  uint32_t source = 0;
  uint32_t destination = 0;
  double delay = 0;  // > 0, any unit
};

struct DelayMatrixOptions {
  // Standard deviations, as the MAD estimates them. Higher: fewer false names, weaker faults missed. Lower: the
  // reverse.
  double z_line = 5;
  double z_point = 6;
  // Least slowdown against the others that counts, as a share. Higher: only what hurts. Lower: names what costs
  // nothing.
  double effect_min = 0.20;
  // Least standard deviation of log delay. Higher: weaker faults are missed in quiet fabrics. Lower: differences too
  // small to matter look significant there.
  double sigma_floor = 0.04879;  // log 1.05
  // Share of a line's cells that must be slow. Higher: a line with some healthy cells is not named. Lower: some slow
  // cells make a slow line.
  double line_share = 0.6;
  // Cells of a line that can be named, 2 or more. Higher: sparse patterns name only pairs. Lower: a line is named on
  // little evidence.
  uint32_t line_cells_min = 3;
  uint32_t max_rounds = 10;
};

struct SlowLine {
  uint32_t index = 0;
  double z = 0;
  double ratio = 1;  // to the median line
};

struct SlowPoint {
  uint32_t source = 0;
  uint32_t destination = 0;
  double z = 0;
  double ratio = 1;
  // Source and destination have enough other cells to be cleared of it. If not, either end may be at fault.
  bool endpoints_cleared = false;
};

struct DelayVerdict {
  std::vector<SlowLine> rows;     // ascending index
  std::vector<SlowLine> columns;  // ascending index
  std::vector<SlowPoint> points;  // ascending (source, destination)
  double median_delay = 0;

  bool nothing_slow() const { return rows.empty() && columns.empty() && points.empty(); }
};

// Args: cells, each pair at most once, in any order; sources < num_sources, destinations < num_destinations.
DelayVerdict ScoreDelays(std::span<const DelayCell> cells, uint32_t num_sources, uint32_t num_destinations,
                         const DelayMatrixOptions& options = {});

}  // namespace fairlead::diagnosis::c4d
