// The page of `fairlead sched run --html`: distributions of completion times and first waits, and the table's numbers.
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
      "<header>\n<p class=\"kicker\">Fairlead sched</p>\n<h1>{}</h1>\n<p>{} on {}. Policies know "
      "{}.</p>\n</header>\n",
      report::EscapeMarkup(TitleOf(report)), report::FormatCount(report.num_jobs, "job"),
      report::EscapeMarkup(DescribeCluster(report.cluster)), report::EscapeMarkup(report.known));
  body += RenderTable(report) + "<section>\n<h2>Figures</h2>\n";
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
  body +=
      fmt::format("</section>\n<section>\n<h2>How to reproduce</h2>\n<pre>{}</pre>\n<p>Fairlead {}.</p>\n</section>\n",
                  report::EscapeMarkup(command), report::EscapeMarkup(kVersion));
  return report::RenderPage(TitleOf(report), body);
}

}  // namespace fairlead::cli
