#include "report/page_figures.h"

#include "report/line_figure.h"

namespace fairlead::report {

std::vector<const sim::RunResult*> FigureInput::RunsOf(const std::string& policy) const {
  std::vector<const sim::RunResult*> runs;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy == policy) runs.push_back(&run);
  }
  return runs;
}

size_t FigureInput::ColorOf(const std::string& policy) const {
  const std::string* baseline = comparisons.empty() ? nullptr : &comparisons.front().baseline;
  if (baseline != nullptr && policy == *baseline) return 0;
  size_t color = 1;
  for (const PolicySummary& summary : summaries) {
    if (summary.policy == policy) break;
    if (baseline == nullptr || summary.policy != *baseline) ++color;
  }
  // Colour 0 stays the baseline's when the colours start over.
  return (color - 1) % (kNumSeriesColors - 1) + 1;
}

}  // namespace fairlead::report
