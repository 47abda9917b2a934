#include "report/html_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/background_report.h"
#include "report/congestion_report.h"
#include "report/control_report.h"
#include "report/draw_description.h"
#include "report/health_report.h"
#include "report/html_page.h"
#include "report/html_table.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/policy_comparison.h"
#include "report/printable_text.h"
#include "report/run_summary.h"
#include "report/stalled_jobs.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

// ---- headline numbers

struct Card {
  std::string what;
  std::string number;
  std::string unit;
  std::string detail;
  Verdict verdict = Verdict::kNoDifference;
};

std::string RenderCard(const Card& card) {
  const std::string_view style = card.verdict == Verdict::kBetter  ? " good"
                                 : card.verdict == Verdict::kWorse ? " bad"
                                                                   : "";
  return fmt::format(
      "<div class=\"card\"><div class=\"what\">{}</div><div class=\"number{}\">{} <small>{}</small></div>"
      "<div class=\"detail\">{}</div></div>\n",
      EscapeMarkup(card.what), style, TypographicNumber(card.number), EscapeMarkup(card.unit),
      TypographicNumber(card.detail));
}

// The difference of one goal, what it was and is, and what that is worth.
Card GoalCard(const GoalChange& change) {
  const bool compared = change.verdict != Verdict::kNotCompared;
  const auto number = [&](const Spread& spread, bool is_bound) {
    return FormatGoal(change.goal, spread.mean, is_bound);
  };
  Card card;
  card.what = GoalLabel(change.goal);
  card.number = compared ? FormatGoalDifference(change.goal, change.difference.mean) : std::string(kUnknown);
  if (const size_t unit = card.number.find(' '); unit != std::string::npos) {
    card.unit = card.number.substr(unit + 1);
    card.number.resize(unit);
  }
  if (change.before.known() && change.after.known()) {
    card.detail = fmt::format("{} → {}; ", number(change.before, change.before_is_bound),
                              number(change.after, change.after_is_bound));
  }
  card.detail += VerdictName(change.verdict);
  card.verdict = change.verdict;
  return card;
}

std::string RenderCards(const std::vector<Card>& cards) {
  std::string html = "<div class=\"cards\">\n";
  for (const Card& card : cards) html += RenderCard(card);
  return html + "</div>\n";
}

// That with the greatest gain of utilization. Args: comparisons: not empty.
std::vector<PolicyComparison>::const_iterator ShownComparison(const std::vector<PolicyComparison>& comparisons) {
  return std::max_element(comparisons.begin(), comparisons.end(),
                          [](const PolicyComparison& a, const PolicyComparison& b) {
                            return a.Of(Goal::kBusy).difference.mean < b.Of(Goal::kBusy).difference.mean;
                          });
}

std::string RenderHeadline(const std::vector<PolicySummary>& summaries,
                           const std::vector<PolicyComparison>& comparisons) {
  if (comparisons.empty()) {
    const PolicySummary& s = summaries.front();
    return RenderCards(
        {{"GPU utilization", s.busy.known() ? FormatPercent(s.busy.mean) : std::string(kUnknown), "", "busy"},
         {"Of the ideal", s.vs_ideal.known() ? FormatPercent(s.vs_ideal.mean) : std::string(kUnknown), "",
          "every job alone on the empty fabric"},
         {"Mean slowdown", FormatSlowdown(s.mean_slowdown.mean, s.slowdowns_are_bounds), "",
          fmt::format("worst {}", FormatSlowdown(s.worst_slowdown.mean, s.slowdowns_are_bounds))},
         {"GPU-hours lost per day", FormatShort(s.gpu_hours_lost_per_day.mean), "", "against every job alone"}});
  }
  const auto shown = ShownComparison(comparisons);
  std::vector<Card> cards;
  for (const Goal goal : {Goal::kBusy, Goal::kMeanSlowdown, Goal::kWorstSlowdown, Goal::kGpuHoursLost}) {
    cards.push_back(GoalCard(shown->Of(goal)));
  }
  const GoalChange& stalled = shown->Of(Goal::kStalledJobs);
  if (stalled.before.max > 0 || stalled.after.max > 0) cards.push_back(GoalCard(stalled));
  return fmt::format("<p class=\"kicker\" style=\"margin-top:28px\">{} against {}</p>\n",
                     EscapeMarkup(shown->candidate), EscapeMarkup(shown->baseline)) +
         RenderCards(cards);
}

// ---- parts of the page

// The first sentence. Empty: nothing was run.
std::string AnswerOf(const std::vector<PolicySummary>& summaries, const std::vector<PolicyComparison>& comparisons) {
  if (!comparisons.empty()) return SummarizeTrade(*ShownComparison(comparisons)) + ".";
  if (summaries.empty()) return "";
  const PolicySummary& s = summaries.front();
  return fmt::format(
      "Under {}, GPUs of running jobs compute {} of the time, and a job takes {} as long as alone on average.",
      s.policy, s.busy.known() ? FormatPercent(s.busy.mean) : std::string(kUnknown),
      FormatSlowdown(s.mean_slowdown.mean, s.slowdowns_are_bounds));
}

std::string RenderHeader(const sim::SimulationReport& report, const std::vector<PolicySummary>& summaries,
                         const std::string& answer) {
  std::string html = "<header>\n<p class=\"kicker\">Fairlead simulation report</p>\n";
  html += fmt::format("<h1>{}</h1>\n", EscapeMarkup(report.scenario.empty() ? "(no title)" : report.scenario));
  if (!answer.empty()) html += fmt::format("<p class=\"answer\">{}</p>\n", TypographicNumber(answer));
  if (!report.fabric_summary.empty()) html += fmt::format("<p>{}</p>\n", EscapeMarkup(report.fabric_summary));
  if (!summaries.empty()) {
    html += fmt::format("<p class=\"muted\">{}, up to {}</p>\n", EscapeMarkup(DescribeDraws(report, summaries)),
                        FormatCount(summaries.front().jobs.size(), "job"));
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

std::string RenderVerdicts(const std::vector<PolicyComparison>& comparisons) {
  std::string html;
  for (const PolicyComparison& comparison : comparisons) {
    html += fmt::format("<h2>{} against {}</h2>\n<p>{}.</p>\n", EscapeMarkup(comparison.candidate),
                        EscapeMarkup(comparison.baseline), TypographicNumber(SummarizeTrade(comparison)));
    html += RenderGoalTable(comparison) + "<ul>\n";
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

std::string RenderNetworks(const std::vector<std::string>& figures) {
  if (figures.empty()) return "";
  std::string html = "<section>\n<h2>The network</h2>\n";
  for (const std::string& figure : figures) html += figure;
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
         "<li><b>vs ideal</b>: useful work relative to what each job would have done alone in the time held.</li>\n"
         "<li><b>slowdown</b>: time held relative to the same work alone; 1 is full speed; ≥ where a job was stalled "
         "and the number is only a lower bound.</li>\n"
         "<li><b>GPU-hours lost</b>: time held beyond what the work takes alone, times the GPUs.</li>\n"
         "<li><b>draw</b>: one set of random choices; all policies are compared on the same ones.</li>\n"
         "<li><b>±</b>: 95 % confidence interval of the mean over draws.</li>\n"
         "<li><b>better, worse</b>: the 95 % interval of the difference over the same draws leaves out 0, and the mean "
         "is at least 0.1 points of utilization or 1 % of the rest. One draw does not show how much is chance.</li>\n"
         "</ul>\n</section>\n";
}

std::string RenderReproduction(const sim::SimulationReport& report, const HtmlOptions& options) {
  std::string html = "<section>\n<h2>How to reproduce</h2>\n";
  if (!options.command.empty()) html += fmt::format("<pre>{}</pre>\n", EscapeMarkup(options.command));
  html +=
      fmt::format("<p>Fairlead {}. The same build, scenario and draw give the same event hash on every machine.</p>\n",
                  EscapeMarkup(report.version.empty() ? "(unknown version)" : report.version));
  return html + RenderRunTable(report) + "</section>\n";
}

// "leaf0->spine1 down" for both directions of a cable; "5 links change" for several at one moment.
std::vector<LineMark> MarkLinkChanges(const HtmlOptions& options) {
  if (options.fabric == nullptr) return {};
  std::map<double, std::vector<const sim::LinkEvent*>> at;
  for (const sim::LinkEvent& event : options.link_events) at[event.time.seconds().value()].push_back(&event);
  std::vector<LineMark> marks;
  for (const auto& [time_s, events] : at) {
    const sim::LinkEvent& first = *events.front();
    const std::string state = first.health <= 0  ? "down"
                              : first.health < 1 ? fmt::format("at {}", FormatPercent(first.health))
                                                 : "up";
    const bool is_cable = std::ranges::all_of(events, [&](const sim::LinkEvent* event) {
      return event->health == first.health &&
             (event->link == first.link || event->link == options.fabric->reverse(first.link));
    });
    marks.push_back({time_s, is_cable ? fmt::format("{} {}", options.fabric->LinkName(first.link), state)
                                      : fmt::format("{} change", FormatCount(events.size(), "link"))});
  }
  return marks;
}

std::string RenderBody(const sim::SimulationReport& report, const HtmlOptions& options) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  if (summaries.empty()) return RenderHeader(report, summaries, "") + "<p>Nothing was run.</p>\n" + RenderNotes(report);

  const std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, summaries);
  std::string html = RenderHeader(report, summaries, AnswerOf(summaries, comparisons));
  const FigureInput input{report, summaries, comparisons, MarkLinkChanges(options)};
  html += RenderHeadline(summaries, comparisons);
  html += RenderPolicyTable(input);
  html += RenderSentences("Doubts about the input", report.doubts);
  html += RenderSentences("Jobs without progress", DescribeStalledJobs(report));
  html += RenderVerdicts(comparisons);
  html += RenderFigures("GPU utilization over time", DrawUtilization(input), false);
  html += RenderSentences("Before, during and after changes of links", CompareStretches(input));
  html += RenderFigures("Network and jobs over time", DrawNetworkOverTime(input), true);
  html += RenderFigures("Completion and waiting of jobs", DrawCompletionTimes(input), true, true);
  html += RenderFigures("Sizes over time", DrawSizesOverTime(input), true);
  std::vector<PageFigure> slowdowns = DrawSlowdowns(input);
  for (PageFigure& figure : DrawJobChanges(input)) slowdowns.push_back(std::move(figure));
  html += RenderFigures("Slowdown of jobs", slowdowns, true, true);
  if (options.fabric != nullptr) html += RenderNetworks(DrawNetworks(input, *options.fabric));
  html += RenderFigures("Load of the links", DrawLinkLoads(input), true);
  html += RenderLinkTable(input);
  html += RenderFigures("Which jobs delay which", DrawContention(input), false);
  html += RenderJobTable(input);
  html += RenderSentences("Changes of paths and levels", DescribeControl(report));
  html += RenderSentences("Broken GPUs", DescribeHealth(report));
  html += RenderSentences("Cost of congestion control", DescribeCongestion(report));
  html += RenderSentences("Beside training", DescribeBackground(report));
  html += RenderGlossary();
  html += RenderNotes(report);
  return html + RenderReproduction(report, options);
}

}  // namespace

std::string RenderHtml(const sim::SimulationReport& report, const HtmlOptions& options) {
  return RenderPage(report.scenario.empty() ? "Simulation" : report.scenario, RenderBody(report, options));
}

}  // namespace fairlead::report
