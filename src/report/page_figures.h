// The figures of the page: what each one shows of a simulation report. The figure headers describe how they are drawn.
#pragma once

#include <string>
#include <vector>

#include "report/html_page.h"
#include "report/line_figure.h"
#include "report/policy_comparison.h"
#include "report/run_summary.h"
#include "sim/run_result.h"
#include "topology/fabric.h"

namespace fairlead::report {

// What figures are drawn from. The baseline policy has colour 0 everywhere, the others 1, 2, …; a policy alone has
// colour 1.
struct FigureInput {
  const sim::SimulationReport& report;
  const std::vector<PolicySummary>& summaries;
  const std::vector<PolicyComparison>& comparisons;
  std::vector<LineMark> link_changes = {};  // x in seconds, ascending

  size_t ColorOf(const std::string& policy) const;
  // In report order.
  std::vector<const sim::RunResult*> RunsOf(const std::string& policy) const;
};

// Each returns an empty list when the report has nothing to draw.

// GPU utilization over simulated time: per policy the mean over draws, with a band from the least to the greatest.
std::vector<PageFigure> DrawUtilization(const FigureInput& input);
// Utilization before the first change of a link, until the last one, and after it, for each policy; empty: no link
// changes.
std::vector<std::string> CompareStretches(const FigureInput& input);
// Load of the network, and jobs that run, over the same time.
std::vector<PageFigure> DrawNetworkOverTime(const FigureInput& input);
// Where an allocation policy decides: completion times and times without GPUs, all draws pooled; sizes over time in the
// first draw, a figure for each allocation policy, all on the same axes.
std::vector<PageFigure> DrawCompletionTimes(const FigureInput& input);
std::vector<PageFigure> DrawSizesOverTime(const FigureInput& input);
// Share of jobs at or below a slowdown, all draws pooled.
std::vector<PageFigure> DrawSlowdowns(const FigureInput& input);
// The jobs with the greatest changes of GPU-hours, and their slowdown under each policy.
std::vector<PageFigure> DrawJobChanges(const FigureInput& input);
// Load of every network link under each policy's first draw; one figure per tier.
std::vector<PageFigure> DrawLinkLoads(const FigureInput& input);
// Seconds that each job (row) lost because of each other (column), mean over draws.
std::vector<PageFigure> DrawContention(const FigureInput& input);

// The fabric as layers under the first draw of each policy, of two at most: baseline and first candidate. Markup of
// whole figures.
std::vector<std::string> DrawNetworks(const FigureInput& input, const topology::Fabric& fabric);

}  // namespace fairlead::report
