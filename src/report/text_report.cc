#include "report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/allocation_report.h"
#include "report/congestion_report.h"
#include "report/control_report.h"
#include "report/number_format.h"
#include "report/policy_comparison.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr size_t kJobNameWidth = 18;

// "61.2 ±1.1": mean and one standard deviation, both times `scale`.
std::string FormatSpread(const Spread& spread, int digits, double scale = 1) {
  if (!spread.known()) return std::string(kUnknown);
  const std::string mean = FormatFixed(spread.mean * scale, digits);
  return spread.count > 1 ? fmt::format("{} ±{}", mean, FormatFixed(spread.deviation * scale, digits)) : mean;
}

std::string FormatGain(const Spread& gain, int digits) {
  return gain.known() ? FormatSigned(gain.mean, digits) : std::string(kUnknown);
}

std::string FormatPointsOf(const Spread& gain) {
  return gain.known() ? FormatPoints(gain.mean) : std::string(kUnknown);
}

std::string FormatRelative(const Spread& gain, const Spread& baseline) {
  const std::optional<double> relative = RelativeChange(gain, baseline);
  return relative ? FormatChange(*relative) : std::string(kUnknown);
}

std::string PolicyLabel(const PolicySummary& summary) {
  std::string label = TruncateToWidth(CleanText(summary.policy), 16);
  if (summary.num_partial == 0) return label;
  return label + (summary.seeds.size() == 1 ? " PARTIAL"
                                            : fmt::format(" PARTIAL {}/{}", summary.num_partial, summary.seeds.size()));
}

// "6 runs: 2 policies x 3 seeds (1, 2, 3)".
std::string DescribeRuns(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries) {
  std::string text = FormatCount(report.runs.size(), "run");
  if (summaries.empty()) return text;
  const PolicySummary& first = summaries.front();
  const bool same_seeds = std::all_of(summaries.begin(), summaries.end(),
                                      [&first](const PolicySummary& s) { return s.seeds == first.seeds; });
  text += summaries.size() == 1 ? ": 1 policy" : fmt::format(": {} policies", summaries.size());
  if (same_seeds) {
    const size_t shown = std::min<size_t>(first.seeds.size(), 8);
    text += fmt::format(" x {} ({}{})", FormatCount(first.seeds.size(), "seed"),
                        fmt::join(first.seeds.begin(), first.seeds.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                        shown < first.seeds.size() ? ", …" : "");
  }
  return text + fmt::format(", {} simulated in each", FormatDuration(first.simulated_s.mean));
}

std::string RenderTitle(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries) {
  std::string text =
      TruncateToWidth(CleanText(report.scenario.empty() ? "(no title)" : report.scenario), kTextWidth) + '\n';
  if (!report.fabric_summary.empty()) text += WrapText(CleanText(report.fabric_summary), kTextWidth, 2);
  text += WrapText(DescribeRuns(report, summaries), kTextWidth, 2);
  const auto num_partial = static_cast<uint64_t>(
      std::count_if(report.runs.begin(), report.runs.end(), [](const sim::RunResult& run) { return run.partial; }));
  if (num_partial > 0) {
    text +=
        WrapText(fmt::format("PARTIAL: {} of {} stopped before the end; their numbers cover only what was simulated.",
                             num_partial, FormatCount(report.runs.size(), "run")),
                 kTextWidth, 2);
  }
  return text + '\n';
}

// A mistake of ours: enough to find it, and nobody may take the rest for the whole. Commands are not wrapped.
std::string RenderFailures(const sim::SimulationReport& report) {
  std::string text;
  for (const sim::FailedRun& run : report.failed_runs) {
    text += WrapText(fmt::format("FAILED: {}, seed {}: {}", CleanText(run.policy), run.seed, CleanText(run.message)),
                     kTextWidth, 2);
    if (!run.reproduce.empty()) text += fmt::format("  reproduce: {}\n", CleanText(run.reproduce));
  }
  return text.empty() ? text : text + '\n';
}

std::string RenderUtilizationTable(const std::vector<PolicySummary>& summaries,
                                   const std::vector<PolicyComparison>& comparisons) {
  TextTable table({{"policy", Align::kLeft, ""},
                   {"busy", Align::kRight, "GPU utilization, %"},
                   {"FLOP-weighted", Align::kRight, "GPU utilization, %"},
                   {"vs ideal", Align::kRight, "GPU utilization, %"},
                   {"mean", Align::kRight, "slowdown"},
                   {"p99", Align::kRight, "slowdown"}});
  for (const PolicySummary& s : summaries) {
    table.AddRow({PolicyLabel(s), FormatSpread(s.busy, 1, 100), FormatSpread(s.flop_weighted, 1, 100),
                  FormatSpread(s.vs_ideal, 1, 100), FormatSpread(s.mean_slowdown, 2), FormatSpread(s.p99_slowdown, 2)});
  }
  for (const PolicyComparison& c : comparisons) {
    const PolicySummary& base = c.baseline;
    table.AddRow({fmt::format("{} - {}", TruncateToWidth(CleanText(c.candidate.policy), 11),
                              TruncateToWidth(CleanText(base.policy), 11)),
                  FormatPointsOf(c.busy_gain), FormatPointsOf(c.flop_weighted_gain), FormatPointsOf(c.vs_ideal_gain),
                  FormatGain(c.mean_slowdown_gain, 2), FormatGain(c.p99_slowdown_gain, 2)});
    table.AddRow(
        {"  relative", FormatRelative(c.busy_gain, base.busy), FormatRelative(c.flop_weighted_gain, base.flop_weighted),
         FormatRelative(c.vs_ideal_gain, base.vs_ideal), FormatRelative(c.mean_slowdown_gain, base.mean_slowdown),
         FormatRelative(c.p99_slowdown_gain, base.p99_slowdown)});
  }
  return table.Render() + '\n';
}

std::string RenderContentionTable(const std::vector<PolicySummary>& summaries) {
  TextTable table({{"policy", Align::kLeft, ""},
                   {"GPU-h lost/day", Align::kRight, ""},
                   {"collisions", Align::kRight, ""},
                   {"worst job", Align::kLeft, ""},
                   {"hottest links", Align::kLeft, ""}});
  for (const PolicySummary& s : summaries) {
    const JobSummary* worst = FindWorstJob(s);
    std::string worst_job(kUnknown);
    if (worst != nullptr) {
      worst_job = fmt::format("{} job {} {}", FormatSlowdown(worst->slowdown.mean), worst->id.value(),
                              TruncateToWidth(CleanText(worst->name), kJobNameWidth));
    }
    std::string links;
    for (const HotLink& link : s.hottest_links) {
      if (!links.empty()) links += ", ";
      links += fmt::format("{} {} %", CleanText(link.name), FormatFixed(100 * link.utilization, 0));
    }
    table.AddRow({PolicyLabel(s), FormatSpread(s.gpu_hours_lost_per_day, s.gpu_hours_lost_per_day.mean >= 100 ? 0 : 1),
                  FormatSpread(s.colliding_links, 1), worst_job, links.empty() ? std::string(kUnknown) : links});
  }
  return table.Render() + '\n';
}

std::string RenderCostTable(const std::vector<PolicySummary>& summaries) {
  TextTable table({{"policy", Align::kLeft, ""},
                   {"path changes", Align::kRight, "per run"},
                   {"level changes", Align::kRight, "per run"},
                   {"fast-forwarded", Align::kRight, "simulation"},
                   {"error bound", Align::kRight, "simulation"},
                   {"wall time", Align::kRight, "simulation"},
                   {"memory, MB", Align::kRight, "simulation"}});
  for (const PolicySummary& s : summaries) {
    table.AddRow({PolicyLabel(s), FormatSpread(s.path_changes, 0), FormatSpread(s.level_changes, 0),
                  FormatPercent(s.fast_forward_fraction.mean), FormatErrorBound(s.fast_forward_error_bound.max),
                  FormatDuration(s.wall_s.mean), FormatFixed(s.peak_rss_mb.max, 0)});
  }
  return table.Render() + '\n';
}

}  // namespace

std::string RenderText(const sim::SimulationReport& report) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  std::string text = RenderTitle(report, summaries);
  text += RenderFailures(report);
  if (summaries.empty()) return text + (report.failed_runs.empty() ? "Nothing was run.\n" : "No run has results.\n");

  const std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, summaries);
  text += RenderUtilizationTable(summaries, comparisons);
  text += RenderContentionTable(summaries);
  text += RenderCostTable(summaries);
  text += RenderAllocation(report);
  if (summaries.front().jobs.empty()) text += "No job was submitted.\n\n";
  for (const PolicyComparison& comparison : comparisons) {
    text += Headline(comparison) + '\n';
    for (const std::string& sentence : ExplainDifference(comparison)) {
      text += "  - " + WrapText(sentence, kTextWidth - 4, 4);
    }
    text += '\n';
  }
  for (const std::string& sentence : DescribeControl(report)) text += WrapText(sentence, kTextWidth, 0);
  for (const std::string& sentence : DescribeCongestion(report)) text += WrapText(sentence, kTextWidth, 0);
  const bool has_spread = std::any_of(summaries.begin(), summaries.end(),
                                      [](const PolicySummary& summary) { return summary.seeds.size() > 1; });
  text += WrapText(
      fmt::format("busy: share of held GPU time spent computing. vs ideal: busy relative to every job alone. Slowdown: "
                  "iteration time relative to alone.{}",
                  has_spread ? " ±: one standard deviation over seeds." : ""),
      kTextWidth, 0);
  return text;
}

}  // namespace fairlead::report
