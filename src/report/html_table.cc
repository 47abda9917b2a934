#include "report/html_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/svg_figure.h"

namespace fairlead::report {
namespace {

std::string NumberCell(std::string_view number) {
  return fmt::format("<td class=\"number-cell\">{}</td>", TypographicNumber(number));
}

// Decimals of numbers that have no fixed range: large ones need none.
int DigitsOf(double value) { return std::abs(value) >= 100 ? 0 : 1; }

// "61.2 ±1.1", half of the confidence interval in small print; "≥ " before a number that is only a lower bound.
std::string SpreadCell(const Spread& spread, int digits, double scale = 1, bool is_bound = false) {
  if (!spread.known()) return NumberCell(kUnknown);
  std::string cell = (is_bound ? "≥ " : "") + TypographicNumber(FormatFixed(spread.mean * scale, digits));
  if (spread.has_interval() && !is_bound) {
    cell += fmt::format(" <span class=\"pm\">±{}</span>", FormatFixed(spread.margin * scale, digits));
  }
  return fmt::format("<td class=\"number-cell\">{}</td>", cell);
}

std::string PolicyCell(const FigureInput& input, const PolicySummary& summary) {
  std::string cell = fmt::format("<td class=\"name\"><span class=\"swatch {}\"></span>{}",
                                 SeriesStyle(input.ColorOf(summary.policy)), EscapeMarkup(summary.policy));
  if (summary.num_partial > 0) {
    cell += fmt::format(" <span class=\"badge\">PARTIAL {}/{}</span>", summary.num_partial, summary.seeds.size());
  }
  return cell + "</td>";
}

// A percentile needs enough jobs; with fewer, the worst job is shown.
bool HasP99(const FigureInput& input) {
  return std::all_of(input.summaries.begin(), input.summaries.end(),
                     [](const PolicySummary& summary) { return summary.p99_slowdown.known(); });
}

std::string PolicyRow(const FigureInput& input, const PolicySummary& s) {
  std::string row = "<tr>" + PolicyCell(input, s);
  row += SpreadCell(s.busy, 1, 100) + SpreadCell(s.flop_weighted, 1, 100) + SpreadCell(s.vs_ideal, 1, 100);
  row += SpreadCell(s.mean_slowdown, 2, 1, s.slowdowns_are_bounds);
  row += HasP99(input) ? SpreadCell(s.p99_slowdown, 2) : SpreadCell(s.worst_slowdown, 2, 1, s.slowdowns_are_bounds);
  row += NumberCell(fmt::format("{} / {}", FormatShort(s.num_stalled.mean), FormatShort(s.num_cut_off.mean)));
  row +=
      SpreadCell(s.gpu_hours_lost_per_day, DigitsOf(s.gpu_hours_lost_per_day.mean)) + SpreadCell(s.colliding_links, 1);
  return row + "</tr>\n";
}

// The slowest job and the most used links.
std::string TroubleRow(const FigureInput& input, const PolicySummary& s) {
  const JobSummary* worst = FindWorstJob(s);
  std::string job(kUnknown);
  if (worst != nullptr) {
    job = fmt::format("{} <span class=\"pm\">job {} {}</span>",
                      TypographicNumber(FormatSlowdown(worst->slowdown.mean, worst->slowdown_is_bound)),
                      worst->id.value(), EscapeMarkup(worst->name));
  }
  std::string links;
  for (const HotLink& link : s.hottest_links) {
    links += fmt::format("{}{} <span class=\"pm\">{}</span>", links.empty() ? "" : ", ", EscapeMarkup(link.name),
                         FormatPercent(link.utilization));
  }
  return "<tr>" + PolicyCell(input, s) +
         fmt::format("<td class=\"name\">{}</td><td class=\"link-name\">{}</td></tr>\n", job,
                     links.empty() ? std::string(kUnknown) : links);
}

// One goal: what it was, what it is, and whether that differs.
std::string GoalRow(const GoalChange& change) {
  const bool compared = change.verdict != Verdict::kNotCompared;
  const Spread& d = change.difference;
  std::string row = fmt::format("<tr><td class=\"name\">{}</td>", EscapeMarkup(GoalLabel(change.goal)));
  row += NumberCell(FormatGoal(change.goal, change.before.mean, change.before_is_bound));
  row += NumberCell(FormatGoal(change.goal, change.after.mean, change.after_is_bound));
  row += NumberCell(compared ? FormatGoalDifference(change.goal, d.mean) : std::string(kUnknown));
  row += NumberCell(compared && d.has_interval() ? FormatGoalInterval(change.goal, d) : std::string(kUnknown));
  const std::string_view style = change.verdict == Verdict::kBetter  ? " good"
                                 : change.verdict == Verdict::kWorse ? " bad"
                                                                     : "";
  return row + fmt::format("<td class=\"name{}\">{}</td></tr>\n", style, VerdictName(change.verdict));
}

// Jobs in the order of the table: most GPU-hours won or lost first; by id where nothing is compared.
std::vector<JobId> OrderJobs(const FigureInput& input) {
  std::vector<std::pair<double, JobId>> order;
  if (!input.comparisons.empty()) {
    for (const JobChange& job : input.comparisons.front().jobs) {
      order.emplace_back(-std::abs(job.gpu_hours_won_per_day), job.id);
    }
  } else {
    for (const JobSummary& job : input.summaries.front().jobs) {
      order.emplace_back(-job.gpu_hours_lost_per_day.mean, job.id);
    }
  }
  std::sort(order.begin(), order.end());
  std::vector<JobId> ids;
  ids.reserve(order.size());
  for (const auto& [weight, id] : order) ids.push_back(id);
  return ids;
}

// The policy with level, bounding link and reason in the table: the first that is compared, else the only one.
const PolicySummary& ShownPolicy(const FigureInput& input) {
  if (input.comparisons.empty()) return input.summaries.front();
  return *std::find_if(input.summaries.begin(), input.summaries.end(),
                       [&](const PolicySummary& s) { return s.policy == input.comparisons.front().candidate; });
}

std::string JobTableHead(const FigureInput& input) {
  std::string slowdowns;
  for (const PolicySummary& summary : input.summaries) {
    slowdowns += fmt::format("<th class=\"number-cell\">{}</th>", EscapeMarkup(summary.policy));
  }
  const bool compared = !input.comparisons.empty();
  return fmt::format(
      "<thead><tr class=\"over\"><th></th><th></th><th></th><th class=\"group\" "
      "colspan=\"{}\"><span>slowdown</span></th>"
      "{}<th class=\"group\" colspan=\"3\"><span>under {}, draw {}</span></th></tr>\n"
      "<tr><th class=\"number-cell\">id</th><th>job</th><th class=\"number-cell\">GPUs</th>{}{}"
      "<th class=\"number-cell\">level</th><th>bounding link</th><th>reason</th></tr></thead>\n",
      input.summaries.size(), compared ? "<th></th>" : "", EscapeMarkup(ShownPolicy(input).policy),
      FirstRun(input.report, ShownPolicy(input).policy).draw, slowdowns,
      compared ? "<th class=\"number-cell\">GPU-hours<br>won per day</th>" : "");
}

std::string WonCell(const FigureInput& input, JobId id) {
  if (input.comparisons.empty()) return "";
  const auto& jobs = input.comparisons.front().jobs;
  const auto found = std::find_if(jobs.begin(), jobs.end(), [id](const JobChange& job) { return job.id == id; });
  if (found == jobs.end() || !found->comparable()) return NumberCell(kUnknown);
  const double won = found->gpu_hours_won_per_day;
  const std::string_view style = won >= 0.05 ? " good" : won <= -0.05 ? " bad" : "";
  return fmt::format("<td class=\"number-cell{}\">{}{}</td>", style, won > 0 ? "+" : "",
                     TypographicNumber(FormatShort(won)));
}

std::string LinkReference(const std::string& link) {
  if (link.empty()) return std::string(kUnknown);
  return fmt::format("<a href=\"#{}\">{}</a>", PlaceInPage("link", link), EscapeMarkup(link));
}

std::string JobRow(const FigureInput& input, JobId id) {
  const JobSummary* shown = FindJob(ShownPolicy(input), id);
  if (shown == nullptr) return "";
  const std::string name = fmt::format("{} {}", id.value(), shown->name);
  const std::string anchor = PlaceInPage("job", name);
  std::string row = fmt::format("<tr id=\"{}\" data-job=\"{}\">", anchor, EscapeMarkup(name));
  row += NumberCell(fmt::format("{}", id.value()));
  row += fmt::format("<td class=\"name\"><a href=\"#{}\">{}</a>", anchor, EscapeMarkup(shown->name));
  if (!shown->model.empty() && shown->model != shown->name) {
    row += fmt::format("<br><span class=\"pm\">{}</span>", EscapeMarkup(shown->model));
  }
  row += "</td>" + NumberCell(FormatCount(shown->num_gpus));
  for (const PolicySummary& summary : input.summaries) {
    const JobSummary* job = FindJob(summary, id);
    row += job == nullptr ? NumberCell(kUnknown) : SpreadCell(job->slowdown, 2, 1, job->slowdown_is_bound);
  }
  row += WonCell(input, id) + NumberCell(FormatCount(shown->level));
  row += fmt::format("<td class=\"link-name\">{}</td>", LinkReference(shown->bounding_link));
  return row + fmt::format("<td class=\"reason\">{}</td></tr>\n", EscapeMarkup(shown->reason));
}

std::string JobRows(const FigureInput& input, const std::vector<JobId>& ids, size_t begin, size_t end) {
  std::string html = "<div class=\"scroll\"><table>" + JobTableHead(input) + "<tbody>\n";
  for (size_t i = begin; i < end; ++i) html += JobRow(input, ids[i]);
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string RenderPolicyTable(const FigureInput& input) {
  std::string html =
      "<div class=\"scroll\"><table>\n<thead><tr class=\"over\"><th></th>"
      "<th class=\"group\" colspan=\"3\"><span>GPU utilization, %</span></th>"
      "<th class=\"group\" colspan=\"2\"><span>slowdown</span></th><th></th><th></th><th></th></tr>\n"
      "<tr><th>policy</th><th class=\"number-cell\">busy</th><th class=\"number-cell\">FLOP-weighted</th>"
      "<th class=\"number-cell\">vs ideal</th><th class=\"number-cell\">mean</th><th class=\"number-cell\">" +
      std::string(HasP99(input) ? "p99" : "worst") +
      "</th><th class=\"number-cell\">jobs stalled<br>/ cut off</th>"
      "<th class=\"number-cell\">GPU-hours<br>lost per day</th><th "
      "class=\"number-cell\">colliding<br>links</th></tr></thead>\n<tbody>\n";
  for (const PolicySummary& summary : input.summaries) html += PolicyRow(input, summary);
  html +=
      "</tbody></table></div>\n<div class=\"scroll\"><table>\n<thead><tr><th>policy</th><th>worst job (slowdown)</th>"
      "<th>hottest links (mean over draws)</th></tr></thead>\n<tbody>\n";
  for (const PolicySummary& summary : input.summaries) html += TroubleRow(input, summary);
  return html + "</tbody></table></div>\n";
}

std::string RenderGoalTable(const PolicyComparison& comparison) {
  std::string html = fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr><th>goal</th><th class=\"number-cell\">{}</th><th "
      "class=\"number-cell\">{}</th><th class=\"number-cell\">difference</th><th class=\"number-cell\">95 % "
      "interval</th><th>verdict</th></tr></thead>\n<tbody>\n",
      EscapeMarkup(comparison.baseline), EscapeMarkup(comparison.candidate));
  bool has_rows = false;
  for (const GoalChange& change : comparison.goals) {
    if (!change.before.known() || !change.after.known()) continue;
    if (change.goal == Goal::kStalledJobs && change.before.max == 0 && change.after.max == 0) continue;
    html += GoalRow(change);
    has_rows = true;
  }
  return has_rows ? html + "</tbody></table></div>\n" : "";
}

std::string RenderJobTable(const FigureInput& input) {
  const std::vector<JobId> ids = OrderJobs(input);
  std::string html = "<section>\n<h2>Jobs</h2>\n";
  if (ids.empty()) return html + "<p class=\"muted\">No job was submitted.</p>\n</section>\n";
  const size_t num_shown = std::min(ids.size(), kNumJobRowsShown);
  const size_t num_unfolded = std::min(num_shown, kNumJobsUnfolded);
  html += JobRows(input, ids, 0, num_unfolded);
  if (num_shown > num_unfolded) {
    html += fmt::format("<details><summary>{} more</summary>\n{}</details>\n",
                        FormatCount(num_shown - num_unfolded, "job"), JobRows(input, ids, num_unfolded, num_shown));
  }
  if (ids.size() > num_shown) {
    html += fmt::format("<p class=\"muted\">{} with smaller changes are left out here; all are in the JSON.</p>\n",
                        FormatCount(ids.size() - num_shown, "job"));
  }
  return html + "</section>\n";
}

std::string RenderLinkTable(const FigureInput& input) {
  struct Row {
    const sim::LinkResult* link = nullptr;
    double most = 0;
    std::vector<const sim::LinkResult*> by_policy;  // [summary]; null: it carried nothing
  };
  std::map<LinkId, Row> found;
  for (size_t p = 0; p < input.summaries.size(); ++p) {
    for (const sim::LinkResult& link : FirstRun(input.report, input.summaries[p].policy).links) {
      Row& row = found[link.id];
      row.link = &link;
      if (std::isfinite(link.utilization)) row.most = std::max(row.most, link.utilization);
      row.by_policy.resize(input.summaries.size());
      row.by_policy[p] = &link;
    }
  }
  if (found.empty()) return "";
  std::vector<Row> rows;
  for (auto& [id, row] : found) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater(), &Row::most);
  std::string html = "<section>\n<h2>Links</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>link</th><th>tier</th>";
  for (const PolicySummary& summary : input.summaries) {
    html += fmt::format("<th class=\"number-cell\">{}</th>", EscapeMarkup(summary.policy));
  }
  html += "<th class=\"number-cell\">jobs</th></tr></thead>\n<tbody>\n";
  for (size_t i = 0; i < std::min(rows.size(), kNumLinkRowsShown); ++i) {
    const Row& row = rows[i];
    html += fmt::format("<tr id=\"{}\" data-link=\"{}\"><td class=\"link-name\">{}</td><td>{}</td>",
                        PlaceInPage("link", row.link->name), EscapeMarkup(row.link->name), EscapeMarkup(row.link->name),
                        topology::Name(row.link->tier));
    uint32_t num_jobs = 0;
    for (const sim::LinkResult* link : row.by_policy) {
      html += NumberCell(link == nullptr ? std::string(kUnknown) : FormatPercent(link->utilization));
      if (link != nullptr) num_jobs = std::max(num_jobs, link->num_jobs);
    }
    html += NumberCell(FormatCount(num_jobs)) + "</tr>\n";
  }
  html +=
      "</tbody></table></div>\n<p class=\"muted\">Bytes carried relative to capacity over the whole run, first draw of "
      "each policy; ";
  html += rows.size() > kNumLinkRowsShown
              ? fmt::format("the {} fullest of {}", kNumLinkRowsShown, FormatCount(rows.size(), "link"))
              : "links that carried something";
  return html + ". Jobs: those with a path over it at the end, under any of them at most.</p>\n</section>\n";
}

std::string RenderRunTable(const sim::SimulationReport& report) {
  std::string html =
      "<div class=\"scroll\"><table>\n<thead><tr><th>policy</th><th class=\"number-cell\">draw</th><th "
      "class=\"number-cell\">seeds of hash,<br>phases, placement</th>"
      "<th>event hash</th>"
      "<th class=\"number-cell\">simulated</th><th class=\"number-cell\">fast-forwarded</th>"
      "<th class=\"number-cell\">error bound</th><th class=\"number-cell\">wall time</th>"
      "<th class=\"number-cell\">memory</th></tr></thead>\n<tbody>\n";
  for (const sim::RunResult& run : report.runs) {
    html += fmt::format("<tr><td class=\"name\">{}{}</td>", EscapeMarkup(run.policy),
                        run.partial ? " <span class=\"badge\">PARTIAL</span>" : "");
    html += NumberCell(fmt::format("{}", run.draw));
    html += NumberCell(fmt::format("{}, {}, {}", run.seed, run.phase_seed, run.placement_seed));
    html += fmt::format("<td><code>{:016x}</code></td>", run.event_hash);
    html += NumberCell(FormatDuration(run.simulated_s)) + NumberCell(FormatPercent(run.fast_forward_fraction));
    html += NumberCell(FormatErrorBound(run.fast_forward_error_bound));
    html += NumberCell(FormatDuration(run.wall_s)) + NumberCell(FormatFixed(run.peak_rss_mb, 0) + " MB") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace fairlead::report
