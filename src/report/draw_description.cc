#include "report/draw_description.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/number_format.h"

namespace fairlead::report {
namespace {

bool HaveSeveralDraws(const std::vector<PolicySummary>& summaries) {
  return std::any_of(summaries.begin(), summaries.end(),
                     [](const PolicySummary& summary) { return summary.seeds.size() > 1; });
}

// "hash, phases and placement vary".
std::string DescribeVaried(const std::vector<std::string>& varied) {
  std::string text;
  for (size_t i = 0; i < varied.size(); ++i) {
    if (i > 0) text += i + 1 == varied.size() ? " and " : ", ";
    text += varied[i] == "phase" ? "phases" : varied[i];
  }
  return text + (varied.size() == 1 && varied[0] != "phase" ? " varies" : " vary");
}

// Whether chance had no say: all runs of each policy came out the same to the last event.
bool AreAllDrawsTheSame(const sim::SimulationReport& report) {
  for (const sim::RunResult& run : report.runs) {
    const sim::RunResult& first = FirstRun(report, run.policy);
    if (run.event_hash != first.event_hash || run.busy != first.busy) return false;
  }
  return true;
}

}  // namespace

std::string DescribeDraws(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries) {
  std::string text = FormatCount(report.runs.size(), "run");
  if (summaries.empty()) return text;
  const PolicySummary& first = summaries.front();
  const bool alike = std::all_of(summaries.begin(), summaries.end(),
                                 [&first](const PolicySummary& s) { return s.seeds.size() == first.seeds.size(); });
  text += summaries.size() == 1 ? ": 1 policy" : fmt::format(": {} policies", summaries.size());
  if (alike) text += " x " + FormatCount(first.seeds.size(), "draw");
  if (HaveSeveralDraws(summaries) && !report.varied.empty()) {
    text += fmt::format(" ({}{})", DescribeVaried(report.varied),
                        AreAllDrawsTheSame(report) ? ", which changes nothing here: all draws came out the same" : "");
  }
  double shortest = first.simulated_s.min;
  double longest = first.simulated_s.max;
  for (const PolicySummary& s : summaries) {
    shortest = std::min(shortest, s.simulated_s.min);
    longest = std::max(longest, s.simulated_s.max);
  }
  const std::string least = FormatDuration(shortest);
  const std::string most = FormatDuration(longest);
  return text + (least == most ? fmt::format(", {} simulated in each", most)
                               : fmt::format(", {} to {} simulated", least, most));
}

std::string ExplainIntervals(const std::vector<PolicySummary>& summaries) {
  if (HaveSeveralDraws(summaries)) return "±: 95 % confidence interval of the mean over draws.";
  return "One draw: nothing is known about chance; --seeds 10 tells.";
}

}  // namespace fairlead::report
