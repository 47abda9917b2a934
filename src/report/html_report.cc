#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "report/congestion_report.h"
#include "report/control_report.h"
#include "report/html_page.h"
#include "report/html_table.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/policy_comparison.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

// ---- headline numbers

enum class Verdict {
  kNeutral,  // no better or worse
  kGood,     // the candidate does better
  kBad,      // it does worse
};

struct Card {
  std::string what;
  std::string number;
  std::string unit;
  std::string detail;
  Verdict verdict = Verdict::kNeutral;
};

std::string RenderCard(const Card& card) {
  const std::string_view style = card.verdict == Verdict::kGood ? " good" : card.verdict == Verdict::kBad ? " bad" : "";
  return fmt::format(
      "<div class=\"card\"><div class=\"what\">{}</div><div class=\"number{}\">{} <small>{}</small></div>"
      "<div class=\"detail\">{}</div></div>\n",
      EscapeMarkup(card.what), style, TypographicNumber(card.number), EscapeMarkup(card.unit),
      TypographicNumber(card.detail));
}

// Better, worse, or too close to zero to say, for a number of which more is better.
Verdict Judge(double gain, double visible) {
  if (!(std::abs(gain) >= visible)) return Verdict::kNeutral;
  return gain > 0 ? Verdict::kGood : Verdict::kBad;
}

Card UtilizationCard(const PolicyComparison& c) {
  Card card{"GPU utilization", FormatFixed(100 * c.busy_gain.mean, 1), "points", "", Verdict::kNeutral};
  if (c.busy_gain.mean > 0) card.number = "+" + card.number;
  card.verdict = c.IsAhead() ? Verdict::kGood : c.IsBehind() ? Verdict::kBad : Verdict::kNeutral;
  card.detail = fmt::format("{} → {}", FormatPercent(c.baseline.busy.mean), FormatPercent(c.candidate.busy.mean));
  if (const std::optional<double> relative = RelativeChange(c.busy_gain, c.baseline.busy)) {
    card.detail += fmt::format(" ({} relative)", FormatChange(*relative));
  }
  return card;
}

Card GpuHoursCard(const PolicyComparison& c) {
  const double won = c.gpu_hours_won_per_day.mean;
  Card card{won >= 0 ? "GPU-hours won back per day" : "More GPU-hours lost per day", FormatShort(std::abs(won)), "", "",
            Judge(won, 0.05)};
  card.detail = fmt::format("lost to contention: {} → {}", FormatShort(c.baseline.gpu_hours_lost_per_day.mean),
                            FormatShort(c.candidate.gpu_hours_lost_per_day.mean));
  return card;
}

Card SlowdownCard(const PolicyComparison& c) {
  const bool known = c.candidate.mean_slowdown.known() && c.baseline.mean_slowdown.known();
  Card card{"Mean slowdown", known ? FormatSlowdown(c.candidate.mean_slowdown.mean) : std::string(kUnknown), "", "",
            known ? Judge(-c.mean_slowdown_gain.mean, 0.005) : Verdict::kNeutral};
  card.detail =
      fmt::format("was {}; p99 {} → {}", FormatSlowdown(c.baseline.mean_slowdown.mean),
                  FormatSlowdown(c.baseline.p99_slowdown.mean), FormatSlowdown(c.candidate.p99_slowdown.mean));
  return card;
}

Card CollisionCard(const PolicyComparison& c) {
  return {"Links where flows collide", FormatShort(c.candidate.colliding_links.mean), "",
          fmt::format("was {}; between switches, at the end", FormatShort(c.baseline.colliding_links.mean)),
          Judge(-c.colliding_links_gain.mean, 0.05)};
}

std::string RenderCards(const std::vector<Card>& cards) {
  std::string html = "<div class=\"cards\">\n";
  for (const Card& card : cards) html += RenderCard(card);
  return html + "</div>\n";
}

std::string RenderHeadline(const std::vector<PolicySummary>& summaries,
                           const std::vector<PolicyComparison>& comparisons) {
  if (comparisons.empty()) {
    const PolicySummary& s = summaries.front();
    return RenderCards(
        {{"GPU utilization", s.busy.known() ? FormatPercent(s.busy.mean) : std::string(kUnknown), "", "busy"},
         {"Of the ideal", s.vs_ideal.known() ? FormatPercent(s.vs_ideal.mean) : std::string(kUnknown), "",
          "every job alone on the empty fabric"},
         {"Mean slowdown", FormatSlowdown(s.mean_slowdown.mean), "",
          fmt::format("p99 {}", FormatSlowdown(s.p99_slowdown.mean))},
         {"GPU-hours lost per day", FormatShort(s.gpu_hours_lost_per_day.mean), "", "to contention"}});
  }
  const auto best = std::max_element(
      comparisons.begin(), comparisons.end(),
      [](const PolicyComparison& a, const PolicyComparison& b) { return a.busy_gain.mean < b.busy_gain.mean; });
  return fmt::format("<p class=\"kicker\" style=\"margin-top:28px\">{} against {}</p>\n",
                     EscapeMarkup(best->candidate.policy), EscapeMarkup(best->baseline.policy)) +
         RenderCards({UtilizationCard(*best), GpuHoursCard(*best), SlowdownCard(*best), CollisionCard(*best)});
}

// ---- parts of the page

std::string RenderHeader(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries) {
  std::string html = "<header>\n<p class=\"kicker\">Fairlead simulation report</p>\n";
  html += fmt::format("<h1>{}</h1>\n", EscapeMarkup(report.scenario.empty() ? "(no title)" : report.scenario));
  if (!report.fabric_summary.empty()) html += fmt::format("<p>{}</p>\n", EscapeMarkup(report.fabric_summary));
  if (!summaries.empty()) {
    html += fmt::format(
        "<p class=\"muted\">{} of {}, {} simulated in each, up to {}</p>\n", FormatCount(report.runs.size(), "run"),
        summaries.size() == 1 ? "1 policy" : fmt::format("{} policies", summaries.size()),
        FormatDuration(summaries.front().simulated_s.mean), FormatCount(summaries.front().jobs.size(), "job"));
  }
  const auto num_partial = static_cast<uint64_t>(
      std::count_if(report.runs.begin(), report.runs.end(), [](const sim::RunResult& run) { return run.partial; }));
  if (num_partial > 0) {
    html += fmt::format(
        "<p class=\"partial\">PARTIAL: {} of {} stopped before the end; their numbers cover only what was "
        "simulated.</p>\n",
        FormatCount(num_partial), FormatCount(report.runs.size(), "run"));
  }
  for (const sim::FailedRun& run : report.failed_runs) {
    html += fmt::format("<p class=\"partial\">FAILED: {}, seed {}: {}", EscapeMarkup(run.policy), run.seed,
                        EscapeMarkup(run.message));
    if (!run.reproduce.empty()) html += fmt::format("<br>reproduce: <code>{}</code>", EscapeMarkup(run.reproduce));
    html += "</p>\n";
  }
  return html + "</header>\n";
}

std::string RenderReasons(const std::vector<PolicyComparison>& comparisons) {
  std::string html;
  for (const PolicyComparison& comparison : comparisons) {
    html += fmt::format("<h2>{}</h2>\n<ul>\n", EscapeMarkup(Headline(comparison)));
    for (const std::string& sentence : ExplainDifference(comparison)) {
      html += fmt::format("<li>{}</li>\n", TypographicNumber(sentence));
    }
    html += "</ul>\n";
  }
  return html;
}

// A section with one heading over figures that belong together; nothing when there are none.
std::string RenderFigures(std::string_view heading, const std::vector<PageFigure>& figures, bool with_subheadings,
                          bool side_by_side = false) {
  if (figures.empty()) return "";
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n", EscapeMarkup(heading));
  if (side_by_side) html += "<div class=\"pair\">\n";
  for (const PageFigure& figure : figures) html += RenderFigure(figure, with_subheadings ? "h3" : "");
  if (side_by_side) html += "</div>\n";
  return html + "</section>\n";
}

std::string RenderNotes(const sim::SimulationReport& report) {
  std::string html = "<section>\n<h2>Assumptions</h2>\n";
  if (report.notes.empty()) return html + "<p class=\"muted\">The scenario states none.</p>\n</section>\n";
  html += "<ul>\n";
  for (const std::string& note : report.notes) html += fmt::format("<li>{}</li>\n", EscapeMarkup(note));
  return html + "</ul>\n</section>\n";
}

// Nothing when there are no sentences.
std::string RenderSentences(std::string_view heading, const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string html = fmt::format("<section>\n<h2>{}</h2>\n<ul>\n", EscapeMarkup(heading));
  for (const std::string& sentence : sentences) html += fmt::format("<li>{}</li>\n", EscapeMarkup(sentence));
  return html + "</ul>\n</section>\n";
}

std::string RenderGlossary() {
  return "<section>\n<h2>What the numbers mean</h2>\n<ul>\n"
         "<li><b>busy</b>: share of the GPU time held by jobs that was spent computing. Differences are percentage "
         "points.</li>\n"
         "<li><b>FLOP-weighted</b>: floating-point work done relative to what the held GPUs could do at their "
         "peak.</li>\n"
         "<li><b>vs ideal</b>: busy relative to the same jobs each running alone on the empty fabric.</li>\n"
         "<li><b>slowdown</b>: mean iteration time relative to the same job alone; 1 is full speed.</li>\n"
         "<li><b>GPU-hours lost</b>: time that jobs were behind their solo speed, times their GPUs.</li>\n"
         "<li><b>±</b>: one standard deviation over seeds.</li>\n</ul>\n</section>\n";
}

std::string RenderReproduction(const sim::SimulationReport& report, const HtmlOptions& options) {
  std::string html = "<section>\n<h2>How to reproduce</h2>\n";
  if (!options.command.empty()) html += fmt::format("<pre>{}</pre>\n", EscapeMarkup(options.command));
  html +=
      fmt::format("<p>Fairlead {}. The same build, scenario and seed give the same event hash on every machine.</p>\n",
                  EscapeMarkup(report.version.empty() ? "(unknown version)" : report.version));
  return html + RenderRunTable(report) + "</section>\n";
}

std::string RenderBody(const sim::SimulationReport& report, const HtmlOptions& options) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  std::string html = RenderHeader(report, summaries);
  if (summaries.empty()) return html + "<p>Nothing was run.</p>\n" + RenderNotes(report);

  const std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, summaries);
  const FigureInput input{report, summaries, comparisons};
  html += RenderHeadline(summaries, comparisons);
  html += RenderPolicyTable(input);
  html += RenderReasons(comparisons);
  html += RenderFigures("GPU utilization over time", DrawUtilization(input), false);
  std::vector<PageFigure> slowdowns = DrawSlowdowns(input);
  for (PageFigure& figure : DrawJobChanges(input)) slowdowns.push_back(std::move(figure));
  html += RenderFigures("How slow the jobs are", slowdowns, true, true);
  html += RenderFigures("Load of the links", DrawLinkLoads(input), true);
  html += RenderFigures("Who delays whom", DrawContention(input), false);
  html += RenderJobTable(input);
  html += RenderSentences("What steering changed", DescribeControl(report));
  html += RenderSentences("What congestion control cost", DescribeCongestion(report));
  html += RenderGlossary();
  html += RenderNotes(report);
  return html + RenderReproduction(report, options);
}

}  // namespace

std::string RenderHtml(const sim::SimulationReport& report, const HtmlOptions& options) {
  return RenderPage(report.scenario.empty() ? "Simulation" : report.scenario, RenderBody(report, options));
}

}  // namespace fairlead::report
