// The page of `fairlead sched run --html`: the answer, sizes over time, distributions of completion times and first
// waits, and tables of policies and jobs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "cli/sched/sched_report.h"
#include "cli/sched/sched_settings.h"
#include "report/html_page.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/schedule_figure.h"
#include "report/svg_figure.h"
#include "version.h"

namespace fairlead::cli {

namespace {

using report::LineFigure;
using report::LineSeries;
using report::PageFigure;

constexpr double kLeastS = 10;  // what is shorter counts as this, as the axis is logarithmic

std::vector<report::Tick> TimeTicks(double most_s) {
  std::vector<report::Tick> ticks;
  for (const auto& [seconds, label] :
       {std::pair(10.0, "10 s"), std::pair(60.0, "1 min"), std::pair(600.0, "10 min"), std::pair(3600.0, "1 h"),
        std::pair(14400.0, "4 h"), std::pair(86400.0, "1 d"), std::pair(604800.0, "7 d")}) {
    if (seconds <= most_s) ticks.push_back({std::log10(seconds), label});
  }
  return ticks;
}

// Share of jobs at or below each time, one curve per policy.
PageFigure DrawDistribution(const SchedReport& report, std::string title, std::string caption,
                            const std::function<std::vector<double>(const SchedRun&)>& times) {
  LineFigure figure;
  figure.is_timeline = false;
  figure.title = title;
  figure.description = "Share of jobs at or below each time. The axis is logarithmic.";
  figure.x_label = "time";
  figure.y_label = "share of jobs";
  double most_s = kLeastS * 2;
  for (const SchedRun& run : report.runs) {
    std::vector<double> sorted = times(run);
    std::ranges::sort(sorted);
    LineSeries series{
        .label = run.policy, .color = figure.series.size(), .points = {}, .band_low = {}, .band_high = {}};
    series.stepped = true;
    series.points.push_back({std::log10(kLeastS), 0});
    for (size_t i = 0; i < sorted.size(); ++i) {
      if (i + 1 < sorted.size() && sorted[i + 1] == sorted[i]) continue;
      series.points.push_back(
          {std::log10(std::max(sorted[i], kLeastS)), static_cast<double>(i + 1) / static_cast<double>(sorted.size())});
    }
    if (!sorted.empty()) most_s = std::max(most_s, sorted.back());
    figure.series.push_back(std::move(series));
  }
  figure.x_domain = {std::log10(kLeastS), std::log10(most_s)};
  figure.y_domain = {0, 1};
  figure.x_ticks = TimeTicks(most_s);
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    figure.y_ticks.push_back({share, report::FormatFixed(100 * share, 0) + " %"});
  }
  return {std::move(title), Draw(figure), std::move(caption)};
}

// GPUs that jobs hold, over time.
PageFigure DrawUse(const SchedReport& report) {
  LineFigure figure;
  figure.title = "GPUs held by jobs";
  figure.description = "Mean number of GPUs that jobs hold, one curve per policy.";
  figure.x_label = "hours";
  figure.y_label = "GPUs";
  constexpr size_t kNumPoints = 400;
  for (const SchedRun& run : report.runs) {
    LineSeries series{
        .label = run.policy, .color = figure.series.size(), .points = {}, .band_low = {}, .band_high = {}};
    const auto& intervals = run.results.front().intervals;
    const size_t stride = intervals.size() / kNumPoints + 1;
    for (size_t i = 0; i + stride <= intervals.size(); i += stride) {
      double sum = 0;
      for (size_t k = i; k < i + stride; ++k) sum += intervals[k].gpus;
      series.points.push_back({intervals[i].begin_s / 3600, sum / static_cast<double>(stride)});
    }
    figure.series.push_back(std::move(series));
  }
  FitAxes(&figure);
  return {figure.title, Draw(figure), "Averages of the time between two points, of the first workload."};
}

constexpr size_t kNumLanesMax = 48;
constexpr size_t kNumJobRowsMax = 1000;

// The first sentence: whose jobs end soonest.
std::string AnswerOf(const SchedReport& report) {
  const auto mean = [](const SchedRun& run) { return run.summary.jct_s.mean; };
  if (report.runs.empty()) return "No policy was run.";
  const auto best = std::ranges::min_element(report.runs, {}, mean);
  if (report.runs.size() == 1) {
    return fmt::format("Under {} a job takes {} from submission to end on average.", best->policy,
                       report::FormatDuration(mean(*best)));
  }
  const auto worst = std::ranges::max_element(report.runs, {}, mean);
  if (mean(*best) >= mean(*worst))
    return fmt::format("All policies let jobs take {} on average.", report::FormatDuration(mean(*best)));
  return fmt::format("Under {} a job takes {} from submission to end on average, {:.0f} % less than the {} under {}.",
                     best->policy, report::FormatDuration(mean(*best)), 100 * (1 - mean(*best) / mean(*worst)),
                     report::FormatDuration(mean(*worst)), worst->policy);
}

// Jobs of the first workload to be drawn, in their order: those that were resized most often where there are many.
std::vector<size_t> ChooseLanes(const SchedReport& report) {
  const size_t num_jobs = report.runs.front().results.front().jobs.size();
  std::vector<std::pair<size_t, size_t>> order;  // changes, job
  for (size_t j = 0; j < num_jobs; ++j) {
    size_t num_changes = 0;
    for (const SchedRun& run : report.runs) num_changes += j < run.sizes.size() ? run.sizes[j].size() : 0;
    order.emplace_back(num_changes, j);
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  order.resize(std::min(order.size(), kNumLanesMax));
  std::vector<size_t> jobs;
  for (const auto& [changes, job] : order) jobs.push_back(job);
  std::ranges::sort(jobs);
  return jobs;
}

// A figure for each policy, all on the same axes.
std::vector<PageFigure> DrawSizes(const SchedReport& report) {
  if (report.runs.empty() || report.runs.front().results.empty()) return {};
  const std::vector<size_t> jobs = ChooseLanes(report);
  double end_s = 0;
  uint32_t most_gpus = 1;
  for (const SchedRun& run : report.runs) {
    for (const sim::ElasticInterval& interval : run.results.front().intervals)
      end_s = std::max(end_s, interval.begin_s);
    for (const size_t j : jobs) {
      end_s = std::max(end_s, run.results.front().jobs[j].completion_s.value_or(0));
      for (const HeldGpus& change : run.sizes[j]) most_gpus = std::max(most_gpus, change.num_gpus);
    }
  }
  const size_t num_jobs = report.runs.front().results.front().jobs.size();
  std::vector<PageFigure> figures;
  for (const SchedRun& run : report.runs) {
    report::ScheduleFigure figure = report::SizesFigure(run.policy, jobs.size(), most_gpus, end_s);
    for (const size_t j : jobs) {
      const sim::ElasticJobResult& job = run.results.front().jobs[j];
      figure.lanes.push_back(report::SizeLane(job.name, job.submission_s, job.completion_s.value_or(end_s),
                                              run.sizes[j], most_gpus, figures.size() % report::kNumSeriesColors));
    }
    std::string caption = fmt::format("A bar as high as its lane: {}; a thin line: the job waits.",
                                      report::FormatCount(most_gpus, "GPU"));
    if (jobs.size() < num_jobs) {
      caption += fmt::format(" {} of {}: those that were resized most often.", report::FormatCount(jobs.size()),
                             report::FormatCount(num_jobs, "job"));
    }
    figures.push_back({run.policy, Draw(figure), std::move(caption)});
  }
  return figures;
}

std::string RenderJobTable(const SchedReport& report) {
  if (report.runs.empty() || report.runs.front().results.empty()) return "";
  const auto& jobs = report.runs.front().results.front().jobs;
  std::string html =
      "<section>\n<h2>Jobs</h2>\n<div class=\"scroll\"><table>\n<thead><tr class=\"over\"><th></th><th></th><th></th>";
  std::string headings;
  for (const SchedRun& run : report.runs) {
    html += fmt::format("<th class=\"group\" colspan=\"3\"><span>{}</span></th>", report::EscapeMarkup(run.policy));
    headings +=
        "<th class=\"number-cell\">JCT</th><th class=\"number-cell\">first wait</th>"
        "<th class=\"number-cell\">restarts</th>";
  }
  html +=
      "</tr>\n<tr><th>job</th><th class=\"number-cell\">submitted</th><th class=\"number-cell\">GPUs asked for</th>" +
      headings + "</tr></thead>\n<tbody>\n";
  const auto cell = [](const std::string& text) {
    return fmt::format("<td class=\"number-cell\">{}</td>", report::TypographicNumber(text));
  };
  for (size_t j = 0; j < std::min(jobs.size(), kNumJobRowsMax); ++j) {
    const std::string place = report::PlaceInPage("job", jobs[j].name);
    html += fmt::format("<tr id=\"{0}\" data-job=\"{1}\"><td class=\"name\"><a href=\"#{0}\">{1}</a></td>", place,
                        report::EscapeMarkup(jobs[j].name));
    html += cell(report::FormatDuration(jobs[j].submission_s)) + cell(report::FormatCount(jobs[j].requested_gpus));
    for (const SchedRun& run : report.runs) {
      const sim::ElasticJobResult& job = run.results.front().jobs[j];
      const auto duration = [](bool is_known, double seconds) {
        return is_known ? report::FormatDuration(seconds) : std::string(report::kUnknown);
      };
      html += cell(duration(job.completion_s.has_value(), job.jct_s()));
      html += cell(duration(job.first_start_s.has_value(), job.first_start_s.value_or(0) - job.submission_s));
      html += cell(report::FormatCount(job.num_restarts));
    }
    html += "</tr>\n";
  }
  html += "</tbody>\n</table></div>\n";
  if (jobs.size() > kNumJobRowsMax) {
    html += fmt::format("<p class=\"muted\">{} more are in the JSON.</p>\n",
                        report::FormatCount(jobs.size() - kNumJobRowsMax));
  }
  return html + "</section>\n";
}

std::string RenderTable(const SchedReport& report) {
  std::string html =
      "<section>\n<h2>Policies</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th>policy</th>"
      "<th class=\"number-cell\">mean JCT, s</th><th class=\"number-cell\">p95 JCT, s</th>"
      "<th class=\"number-cell\">longest first wait, s</th><th class=\"number-cell\">restarts a job</th>"
      "<th class=\"number-cell\">most restarts</th><th class=\"number-cell\">lost GPU-hours</th>"
      "<th class=\"number-cell\">largest rho</th></tr></thead>\n<tbody>\n";
  for (const SchedRun& run : report.runs) {
    html += fmt::format("<tr><td class=\"name\">{}</td>", report::EscapeMarkup(run.policy));
    const sim::ElasticSummary& s = run.summary;
    for (const auto& [value, digits] :
         {std::pair(s.jct_s.mean, 0), std::pair(s.jct_s.p95, 0), std::pair(s.first_wait_s.max, 0),
          std::pair(s.restarts.mean, 2), std::pair(s.restarts.max, 0), std::pair(s.lost_gpu_hours, 1),
          std::pair(s.unfairness.max, 2)}) {
      html += fmt::format("<td class=\"number-cell\">{}</td>",
                          report::TypographicNumber(report::FormatFixed(value, digits)));
    }
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table></div>\n</section>\n";
}

}  // namespace

std::string RenderSchedPage(const SchedReport& report, const std::string& command) {
  std::string body = fmt::format(
      "<header>\n<p class=\"kicker\">Fairlead sched</p>\n<h1>{}</h1>\n<p class=\"answer\">{}</p>\n<p>{} on {}. "
      "Policies know "
      "{}.</p>\n</header>\n",
      report::EscapeMarkup(TitleOf(report)), report::EscapeMarkup(AnswerOf(report)),
      report::FormatCount(report.num_jobs, "job"), report::EscapeMarkup(DescribePlace(report)),
      report::EscapeMarkup(report.known));
  body += RenderTable(report);
  const std::vector<PageFigure> sizes = DrawSizes(report);
  if (!sizes.empty()) body += "<section>\n<h2>Sizes over time</h2>\n";
  for (const PageFigure& figure : sizes) body += RenderFigure(figure, "h3");
  if (!sizes.empty()) body += "</section>\n";
  body += "<section>\n<h2>Figures</h2>\n";
  body += RenderFigure(DrawDistribution(report, "Completion time", "From submission to end.",
                                        [](const SchedRun& run) {
                                          std::vector<double> times;
                                          for (const auto& result : run.results) {
                                            for (const auto& job : result.jobs) {
                                              if (job.completion_s) times.push_back(job.jct_s());
                                            }
                                          }
                                          return times;
                                        }),
                       "h3");
  body += RenderFigure(DrawDistribution(report, "First wait", "From submission to the first start.",
                                        [](const SchedRun& run) {
                                          std::vector<double> times;
                                          for (const auto& result : run.results) {
                                            for (const auto& job : result.jobs) {
                                              if (job.first_start_s)
                                                times.push_back(*job.first_start_s - job.submission_s);
                                            }
                                          }
                                          return times;
                                        }),
                       "h3");
  body += RenderFigure(DrawUse(report), "h3");
  body += "</section>\n" + RenderJobTable(report) +
          fmt::format("<section>\n<h2>How to reproduce</h2>\n<pre>{}</pre>\n<p>Fairlead {}.</p>\n</section>\n",
                      report::EscapeMarkup(command), report::EscapeMarkup(kVersion));
  return report::RenderPage(TitleOf(report), body);
}

}  // namespace fairlead::cli
