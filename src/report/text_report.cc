#include "report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/allocation_report.h"
#include "report/background_report.h"
#include "report/congestion_report.h"
#include "report/control_report.h"
#include "report/draw_description.h"
#include "report/health_report.h"
#include "report/number_format.h"
#include "report/policy_comparison.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/stalled_jobs.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

constexpr size_t kJobNameWidth = 18;
constexpr size_t kPolicyNameWidth = 24;

// "61.2 ±1.1": mean and half of its confidence interval, both times `scale`.
std::string FormatSpread(const Spread& spread, int digits, double scale = 1) {
  if (!spread.known()) return std::string(kUnknown);
  const std::string mean = FormatFixed(spread.mean * scale, digits);
  return spread.count > 1 ? fmt::format("{} ±{}", mean, FormatFixed(spread.margin * scale, digits)) : mean;
}

// The same of a slowdown, which may be only a lower bound.
std::string FormatSlowdowns(const Spread& spread, bool is_bound) {
  return is_bound && spread.known() ? ">= " + FormatFixed(spread.mean, 2) : FormatSpread(spread, 2);
}

std::string PolicyLabel(const PolicySummary& summary) {
  std::string label = ShownName(summary.policy, kPolicyNameWidth);
  if (summary.num_partial == 0) return label;
  return label + (summary.seeds.size() == 1 ? " PARTIAL"
                                            : fmt::format(" PARTIAL {}/{}", summary.num_partial, summary.seeds.size()));
}

std::string RenderTitle(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries) {
  std::string text = ShownName(report.scenario.empty() ? "(no title)" : report.scenario, kTextWidth) + '\n';
  if (!report.fabric_summary.empty()) text += WrapText(CleanText(report.fabric_summary), kTextWidth, 2);
  text += WrapText(DescribeDraws(report, summaries), kTextWidth, 2);
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

// A mistake of ours: enough to find it, and the rest must not look complete. Commands are not wrapped.
std::string RenderFailures(const sim::SimulationReport& report) {
  std::string text;
  for (const sim::FailedRun& run : report.failed_runs) {
    text += WrapText(fmt::format("FAILED: {}, seed {}: {}", CleanText(run.policy), run.seed, CleanText(run.message)),
                     kTextWidth, 2);
    if (!run.reproduce.empty()) text += fmt::format("  reproduce: {}\n", CleanText(run.reproduce));
  }
  return text.empty() ? text : text + '\n';
}

bool HaveP99(const std::vector<PolicySummary>& summaries) {
  return std::all_of(summaries.begin(), summaries.end(),
                     [](const PolicySummary& summary) { return summary.p99_slowdown.known(); });
}

Document RenderUtilizationTable(const std::vector<PolicySummary>& summaries) {
  const bool has_p99 = HaveP99(summaries);
  const bool some_stalled = std::any_of(summaries.begin(), summaries.end(), [](const PolicySummary& s) {
    return s.num_stalled.max + s.num_cut_off.max > 0;
  });
  std::vector<TextColumn> columns = {
      {"policy", Align::kLeft},
      {"busy", Align::kRight, "GPU utilization, %", "share of allocated GPU time spent computing"},
      {"FLOP-weighted", Align::kRight, "GPU utilization, %", "operations done, relative to the GPUs' peak"},
      {"vs ideal", Align::kRight, "GPU utilization, %", "useful work relative to every job alone"},
      {"mean", Align::kRight, "slowdown",
       "time that jobs take relative to the same work alone; >= if a job is stalled"},
      {has_p99 ? "p99" : "worst", Align::kRight, "slowdown",
       has_p99 ? "slowdown that 1 % of the jobs exceed" : "slowdown of the slowest job of each draw"}};
  if (some_stalled) {
    columns.push_back({"stalled", Align::kRight, "jobs", "jobs that have paths and yet make no progress"});
    columns.push_back({"cut off", Align::kRight, "jobs", "jobs that wait for a link that is down"});
  }
  TextTable table(std::move(columns));
  for (const PolicySummary& s : summaries) {
    std::vector<std::string> row = {
        PolicyLabel(s),
        FormatSpread(s.busy, 1, 100),
        FormatSpread(s.flop_weighted, 1, 100),
        FormatSpread(s.vs_ideal, 1, 100),
        FormatSlowdowns(s.mean_slowdown, s.slowdowns_are_bounds),
        has_p99 ? FormatSpread(s.p99_slowdown, 2) : FormatSlowdowns(s.worst_slowdown, s.slowdowns_are_bounds)};
    if (some_stalled) {
      row.push_back(FormatShort(s.num_stalled.mean));
      row.push_back(FormatShort(s.num_cut_off.mean));
    }
    table.AddRow(std::move(row));
  }
  return Document(std::move(table)) + "\n";
}

// One goal per row: what it was, what it is, and whether that differs.
Document RenderComparison(const PolicyComparison& c) {
  Document document = WrapText(SummarizeTrade(c) + ".", kTextWidth, 2);
  TextTable table({{"  goal", Align::kLeft},
                   {ShownName(c.baseline, kPolicyNameWidth), Align::kRight},
                   {ShownName(c.candidate, kPolicyNameWidth), Align::kRight},
                   {"difference", Align::kRight},
                   {"95 % interval", Align::kRight},
                   {"verdict", Align::kLeft, "",
                    "better or worse if the 95 % interval of the difference over the same draws excludes 0 and the "
                    "mean is at least 0.1 points of utilization, or 1 % of the others"}});
  for (const GoalChange& change : c.goals) {
    if (!change.before.known() || !change.after.known()) continue;
    if (change.goal == Goal::kStalledJobs && change.before.max == 0 && change.after.max == 0) continue;
    const bool compared = change.verdict != Verdict::kNotCompared;
    const Spread& d = change.difference;
    table.AddRow({fmt::format("  {}", GoalLabel(change.goal)),
                  FormatGoal(change.goal, change.before.mean, change.before_is_bound),
                  FormatGoal(change.goal, change.after.mean, change.after_is_bound),
                  compared ? FormatGoalDifference(change.goal, d.mean) : std::string(kUnknown),
                  compared && d.has_interval() ? FormatGoalInterval(change.goal, d) : std::string(kUnknown),
                  std::string(VerdictName(change.verdict))});
  }
  if (c.num_pairs + c.num_pairs_in_part > 0 && !table.empty()) document += std::move(table);
  for (const std::string& sentence : ExplainDifference(c)) document += "  - " + WrapText(sentence, kTextWidth - 4, 4);
  return document + "\n";
}

Document RenderContentionTable(const std::vector<PolicySummary>& summaries) {
  TextTable table({{"policy", Align::kLeft},
                   {"GPU-h lost/day", Align::kRight, "", "GPU-hours per day beyond what the same work takes alone"},
                   {"collisions", Align::kRight, "", "links between switches on which jobs lose time"},
                   {"worst job", Align::kLeft, "", "the job that is slowest in the mean over all draws"},
                   {"hottest links", Align::kLeft, "", "share of their speed in use over the run"}});
  for (const PolicySummary& s : summaries) {
    const JobSummary* worst = FindWorstJob(s);
    std::string worst_job(kUnknown);
    if (worst != nullptr) {
      worst_job = fmt::format("{} job {} {}", FormatSlowdown(worst->slowdown.mean, worst->slowdown_is_bound),
                              worst->id.value(), ShownName(worst->name, kJobNameWidth));
    }
    std::string links;
    for (const HotLink& link : s.hottest_links) {
      if (!links.empty()) links += ", ";
      links += fmt::format("{} {} %", CleanText(link.name), FormatFixed(100 * link.utilization, 0));
    }
    table.AddRow({PolicyLabel(s), FormatSpread(s.gpu_hours_lost_per_day, s.gpu_hours_lost_per_day.mean >= 100 ? 0 : 1),
                  FormatSpread(s.colliding_links, 1), worst_job, links.empty() ? std::string(kUnknown) : links});
  }
  return Document(std::move(table)) + "\n";
}

Document RenderCostTable(const std::vector<PolicySummary>& summaries) {
  TextTable table({{"policy", Align::kLeft},
                   {"path changes", Align::kRight, "per run"},
                   {"level changes", Align::kRight, "per run", "how often a job got another priority in the switches"},
                   {"fast-forwarded", Align::kRight, "simulation", "simulated time skipped because iterations repeat"},
                   {"error bound", Align::kRight, "simulation", "most that skipping may change a job's iterations"},
                   {"wall time", Align::kRight, "simulation"},
                   {"memory, MB", Align::kRight, "simulation"}});
  for (const PolicySummary& s : summaries) {
    table.AddRow({PolicyLabel(s), FormatSpread(s.path_changes, 0), FormatSpread(s.level_changes, 0),
                  FormatPercent(s.fast_forward_fraction.mean), FormatErrorBound(s.fast_forward_error_bound.max),
                  FormatDuration(s.wall_s.mean), FormatFixed(s.peak_rss_mb.max, 0)});
  }
  return Document(std::move(table)) + "\n";
}

}  // namespace

Document RenderText(const sim::SimulationReport& report) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  Document text = RenderTitle(report, summaries);
  text += RenderFailures(report);
  if (summaries.empty()) return text + (report.failed_runs.empty() ? "Nothing was run.\n" : "No run has results.\n");

  const std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, summaries);
  text += RenderUtilizationTable(summaries);
  for (const std::string& doubt : report.doubts) text += WrapText("Note: " + CleanText(doubt), kTextWidth, 2);
  if (!report.doubts.empty()) text += "\n";
  const std::vector<std::string> stalled = DescribeStalledJobs(report);
  for (const std::string& sentence : stalled) text += WrapText(sentence, kTextWidth, 2);
  if (!stalled.empty()) text += "\n";
  text += RenderContentionTable(summaries);
  text += RenderCostTable(summaries);
  text += RenderAllocation(report);
  if (summaries.front().jobs.empty()) text += "No job was submitted.\n\n";
  for (const PolicyComparison& comparison : comparisons) text += RenderComparison(comparison);
  for (const std::string& sentence : DescribeControl(report)) text += WrapText(sentence, kTextWidth, 0);
  for (const std::string& sentence : DescribeHealth(report)) text += WrapText(sentence, kTextWidth, 0);
  for (const std::string& sentence : DescribeCongestion(report)) text += WrapText(sentence, kTextWidth, 0);
  for (const std::string& sentence : DescribeBackground(report)) text += WrapText(sentence, kTextWidth, 0);
  text += WrapText(ExplainIntervals(summaries), kTextWidth, 0);
  return text;
}

}  // namespace fairlead::report
