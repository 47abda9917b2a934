// The tables of the page: policies, jobs, runs.
#pragma once

#include <string>
#include <string_view>

#include "report/page_figures.h"
#include "sim/run_result.h"

namespace fairlead::report {

// One row per policy; then each policy's slowest job and hottest links.
std::string RenderPolicyTable(const FigureInput& input);

// One row per goal with its verdict; nothing where no goal is known.
std::string RenderGoalTable(const PolicyComparison& comparison);

// One row per job, the greatest changes of GPU-hours first; at most kNumJobRowsShown, the others are counted below.
std::string RenderJobTable(const FigureInput& input);
inline constexpr size_t kNumJobRowsShown = 500;
// Rows that are visible at once; further ones unfold.
inline constexpr size_t kNumJobsUnfolded = 60;

// One row per network link, the fullest under any policy first; at most kNumLinkRowsShown. Nothing where none carried
// bytes.
std::string RenderLinkTable(const FigureInput& input);
inline constexpr size_t kNumLinkRowsShown = 200;

// Draw, event hash and cost of each run.
std::string RenderRunTable(const sim::SimulationReport& report);

}  // namespace fairlead::report
