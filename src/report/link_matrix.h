// How the links of one tier are laid out as a matrix: one row per switch, one column per cable of it.
//
// Results name links ("leaf4->spine2#1") but carry no graph, so the two ends are read off the names: "leaf4" and
// "leaf17" are one kind of thing because they differ in digits only. Names that don't read this way still get a cell,
// in a row of their source.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/heat_map_figure.h"
#include "sim/run_result.h"

namespace fairlead::report {

struct LinkCell {
  const sim::LinkResult* link = nullptr;
  size_t row = 0;
  size_t column = 0;
};

// Host links have their leaf as row; links between switches, the end of which there are more (the lower tier). First
// the columns of links that leave the row's switch, then those that enter it.
struct LinkMatrix {
  std::vector<std::string> rows;  // switch names, in natural order (leaf2 before leaf10)
  size_t num_columns = 0;
  std::vector<ColumnSpan> spans;  // "leaf to spine", "spine to leaf"
  std::vector<LinkCell> cells;    // one per link
};

// Args: links of one tier, each once; they must outlive the matrix.
LinkMatrix ArrangeLinks(const std::vector<const sim::LinkResult*>& links, topology::LinkTier tier);

// Less-than of names with numbers in them: "leaf2" < "leaf10".
bool NaturalLess(const std::string& a, const std::string& b);

}  // namespace fairlead::report
