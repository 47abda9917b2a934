// The grid for people: counts of verdicts, tables and heat maps.
#pragma once

#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "experiments/crux-trace-grid/grid.h"
#include "experiments/crux-trace-grid/statements.h"

namespace fairlead::experiments::crux_trace_grid {

// One statement in one cell.
struct CellVerdict {
  Verdict verdict = Verdict::kUndecided;
  report::Spread spread;  // of what was measured; unknown for the whole order
};

// All cells of one fabric.
struct FabricVerdicts {
  std::string fabric;
  std::vector<Statement> statements;               // the last one is the whole order, which measures nothing
  std::vector<const CellResult*> cells;            // in the order of the grid
  std::vector<std::vector<CellVerdict>> verdicts;  // [statement][cell]

  size_t Count(size_t statement, Verdict verdict) const;
  // Index of the statement of this text.
  size_t Find(std::string_view text) const;
};

// Args: `result` must outlive the verdicts.
FabricVerdicts JudgeFabric(const GridResult& result, const std::string& fabric, const PublishedGains& published);

// "What holds where": a line for each statement, a column for each value of each axis, "12 : 3" for 12 cells in which
// it holds and 3 in which it is contradicted.
std::vector<experiment::ResultTable> HoldsWhere(const FabricVerdicts& verdicts, const GridAxes& axes);

// Long: busy and slowdowns of each policy in each cell, with their intervals and paired differences.
experiment::ResultTable PolicyTable(const GridResult& result);
// Long: verdict and measured number of each statement in each cell.
experiment::ResultTable VerdictTable(const FabricVerdicts& verdicts);

// A panel for each statement, a square for each cell.
report::PageFigure DrawVerdicts(const FabricVerdicts& verdicts, const GridAxes& axes);
// A panel for each policy: how busy GPUs are.
report::PageFigure DrawBusy(const FabricVerdicts& verdicts, const GridAxes& axes);

}  // namespace fairlead::experiments::crux_trace_grid
