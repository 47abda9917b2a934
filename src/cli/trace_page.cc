#include "cli/trace_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "report/bar_figure.h"
#include "report/html_page.h"
#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/svg_figure.h"
#include "trace/concurrency.h"
#include "version.h"

namespace fairlead::cli {

namespace {

using report::Interval;
using report::LineFigure;
using report::LineSeries;
using report::PageFigure;
using report::Tick;

constexpr size_t kColorPublished = 0;
constexpr size_t kColorTrace = 1;

std::vector<Tick> PercentTicks() {
  std::vector<Tick> ticks;
  for (const double value : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    ticks.push_back({value, report::FormatFixed(100 * value, 0) + " %"});
  }
  return ticks;
}

PageFigure DrawArrivals(const trace::Trace& trace, const trace::TraceProfile& profile) {
  const uint32_t num_days = trace::NumDays(trace.jobs);
  report::BarFigure figure;
  figure.title = "Jobs submitted per day";
  figure.description = "Bars: jobs of the trace on each day. Short lines: jobs that were published for that day.";
  figure.y_label = "jobs";
  figure.series = {"trace"};
  figure.mark_label = "published";
  std::vector<double> counts(num_days);
  for (const trace::TraceJob& job : trace.jobs) ++counts[static_cast<size_t>(job.submit_s / trace::kSecondsPerDay)];
  double most = 1;
  for (uint32_t day = 0; day < std::min(num_days, 62u); ++day) {
    report::BarGroup group{.label = fmt::format("{}", day), .values = {counts[day]}, .marks = {}};
    if (day < profile.num_days()) group.marks = {profile.arrivals_per_day[day]};
    most = std::max({most, counts[day], group.marks.empty() ? 0.0 : group.marks.front()});
    figure.groups.push_back(std::move(group));
  }
  figure.y_domain = {0, 1.08 * most};
  return {figure.title, Draw(figure),
          fmt::format("Day 0 is {}. Each day's total is met; hours and batches are drawn.", profile.first_day)};
}

// Share of `sorted` at or below each value, over the logarithm of the value; long samples thinned out.
LineSeries MakeDistribution(const std::string& label, const std::vector<double>& sorted, Interval domain) {
  constexpr size_t kNumPointsMax = 400;
  LineSeries series{.label = label, .color = kColorTrace, .points = {{domain.low, 0}}, .band_low = {}, .band_high = {}};
  series.stepped = true;
  const size_t stride = sorted.size() / kNumPointsMax + 1;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const bool is_last_of_value = i + 1 == sorted.size() || sorted[i + 1] != sorted[i];
    if (!is_last_of_value || (i % stride != 0 && i + 1 != sorted.size() && i > 0 && sorted.size() > kNumPointsMax &&
                              series.points.back().x > std::log10(sorted[i]) - 0.01)) {
      continue;
    }
    series.points.push_back({std::log10(sorted[i]), static_cast<double>(i + 1) / static_cast<double>(sorted.size())});
  }
  series.points.push_back({domain.high, 1});
  return series;
}

LineSeries MakePublished(const std::vector<double>& values, const std::function<double(double)>& cdf, Interval domain,
                         bool stepped) {
  LineSeries series{.label = "published", .color = kColorPublished, .points = {}, .band_low = {}, .band_high = {}};
  series.stepped = stepped;
  series.points.push_back({domain.low, cdf(std::pow(10, domain.low))});
  for (const double value : values) series.points.push_back({std::log10(value), cdf(value)});
  series.points.push_back({domain.high, 1});
  return series;
}

LineFigure MakeDistributionFigure(std::string title, std::string x_label, Interval domain, std::vector<Tick> ticks) {
  LineFigure figure;
  figure.title = std::move(title);
  figure.description = "Share of jobs at or below each value, of the trace and as published. The axis is logarithmic.";
  figure.x_label = std::move(x_label);
  figure.y_label = "share of jobs";
  figure.x_domain = domain;
  figure.y_domain = {0, 1};
  figure.x_ticks = std::move(ticks);
  figure.y_ticks = PercentTicks();
  figure.width = 540;
  return figure;
}

PageFigure DrawRunTimes(const trace::Trace& trace, const trace::TraceProfile& profile) {
  const Interval domain{std::log10(0.4), std::log10(40'000)};
  std::vector<double> minutes;
  for (const trace::TraceJob& job : trace.jobs) minutes.push_back(std::max(job.duration_s / 60, 0.4));
  std::sort(minutes.begin(), minutes.end());
  LineFigure figure = MakeDistributionFigure("Run time", "run time", domain,
                                             {{0, "1 min"},
                                              {1, "10 min"},
                                              {std::log10(60), "1 h"},
                                              {std::log10(480), "8 h"},
                                              {std::log10(2880), "2 d"},
                                              {std::log10(20160), "14 d"}});
  const auto cdf = [&](double value) { return profile.run_time_minutes.Cdf(value); };
  figure.series = {MakePublished(profile.run_time_minutes.values(), cdf, domain, false),
                   MakeDistribution("trace", minutes, domain)};
  return {figure.title, Draw(figure),
          "All jobs, those without GPUs included. Between the published quantiles: our interpolation."};
}

PageFigure DrawSizes(const trace::Trace& trace, const trace::TraceProfile& profile) {
  const Interval domain{-0.05, std::log10(1024)};
  std::vector<double> sizes;
  for (const trace::TraceJob& job : trace.jobs) {
    if (job.gpus > 0) sizes.push_back(job.gpus);
  }
  std::sort(sizes.begin(), sizes.end());
  std::vector<Tick> ticks;
  for (const int size : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512})
    ticks.push_back({std::log10(size), std::to_string(size)});
  LineFigure figure = MakeDistributionFigure("GPUs per job", "GPUs", domain, std::move(ticks));
  const auto cdf = [&](double value) { return profile.gpus_per_job.Cdf(value + 0.5); };
  const std::vector<double> published(profile.gpus_per_job.gpus.begin(), profile.gpus_per_job.gpus.end());
  figure.series = {MakePublished(published, cdf, domain, true)};
  if (!sizes.empty()) figure.series.push_back(MakeDistribution("trace", sizes, domain));
  return {figure.title, Draw(figure), "Jobs with GPUs."};
}

// One curve of what is there at once, with the published daily means.
PageFigure DrawOverTime(const std::string& title, const std::string& unit, double bin_s,
                        const std::vector<double>& values, const std::vector<double>& published, double published_max) {
  LineFigure figure;
  figure.title = title;
  figure.description = title + " over time: hourly means of the trace, and the published mean of each day.";
  figure.x_label = "time";
  figure.y_label = unit;
  figure.x_domain = {0, bin_s * static_cast<double>(values.size())};
  figure.x_ticks = report::PlanTimeTicks(figure.x_domain, 16);
  double most = published_max;
  LineSeries ours{.label = "trace", .color = kColorTrace, .points = {}, .band_low = {}, .band_high = {}};
  for (size_t bin = 0; bin < values.size(); ++bin) {
    ours.points.push_back({(static_cast<double>(bin) + 0.5) * bin_s, values[bin]});
    most = std::max(most, values[bin]);
  }
  LineSeries theirs{.label = "published", .color = kColorPublished, .points = {}, .band_low = {}, .band_high = {}};
  for (size_t day = 0; day < published.size(); ++day) {
    const double middle = (static_cast<double>(day) + 0.5) * trace::kSecondsPerDay;
    if (middle < figure.x_domain.high) theirs.points.push_back({middle, published[day]});
  }
  figure.series = {std::move(ours)};
  if (!theirs.points.empty()) figure.series.insert(figure.series.begin(), std::move(theirs));
  figure.y_domain = {0, 1.05 * most};
  figure.y_ticks = report::PlanTicks(figure.y_domain, 6);
  figure.height = 240;
  return {figure.title, Draw(figure),
          fmt::format("Hourly means; published: means of days. Published maximum: {}.",
                      report::FormatShort(published_max))};
}

std::vector<PageFigure> DrawConcurrency(const trace::Trace& trace, const trace::TraceProfile& profile) {
  constexpr double kBin = 3600;
  const double end_s = trace::NumDays(trace.jobs) * trace::kSecondsPerDay;
  const trace::Concurrency c = MeasureConcurrency(trace.jobs, end_s, kBin);
  const trace::PublishedConcurrency& published = profile.concurrency;
  return {DrawOverTime("GPU jobs at once", "GPU jobs", kBin, c.bin_jobs, published.daily_jobs, published.jobs_max),
          DrawOverTime("GPUs in use", "GPUs", kBin, c.bin_gpus, published.daily_gpus, published.gpus_max)};
}

std::string NumberCell(const std::string& text, std::string_view style = "") {
  return fmt::format("<td class=\"number-cell{}\">{}</td>", style, report::TypographicNumber(text));
}

std::string RenderFitTable(const trace::GoodnessOfFit& fit) {
  std::string html =
      "<section>\n<h2>Goodness of fit</h2>\n<div "
      "class=\"scroll\"><table>\n<thead><tr><th>marginal</th><th>quantity</th>"
      "<th class=\"number-cell\">published</th><th class=\"number-cell\">trace</th><th>unit</th>"
      "<th class=\"number-cell\">distance</th><th "
      "class=\"number-cell\">band</th><th>inside</th></tr></thead>\n<tbody>\n";
  for (const trace::FitRow& row : fit.rows) {
    const std::string_view style = !row.is_judged ? "" : row.is_inside() ? " good" : " bad";
    const auto value = [](double v) { return std::isfinite(v) ? report::FormatShort(v) : std::string(); };
    html += fmt::format("<tr><td class=\"name\">{}</td><td>{}</td>{}{}<td>{}</td>{}{}<td>{}</td></tr>\n",
                        report::EscapeMarkup(row.marginal), report::EscapeMarkup(row.quantity),
                        NumberCell(value(row.published)), NumberCell(value(row.ours), style),
                        report::EscapeMarkup(row.unit), NumberCell(fmt::format("{:.3f}", row.distance), style),
                        NumberCell(fmt::format("{:.2f}", row.band)),
                        !row.is_judged    ? "not judged"
                        : row.is_inside() ? "yes"
                                          : "no");
  }
  return html +
         fmt::format("</tbody>\n</table></div>\n<p class=\"muted\">{} of {} judged rows are inside.</p>\n</section>\n",
                     fit.num_judged() - fit.num_outside(), fit.num_judged());
}

std::string RenderNotes(const trace::Trace& trace) {
  if (trace.notes.empty()) return "";
  std::string html = "<section>\n<h2>Assumptions</h2>\n<ul>\n";
  for (const std::string& note : trace.notes) html += fmt::format("<li>{}</li>\n", report::EscapeMarkup(note));
  return html + "</ul>\n</section>\n";
}

}  // namespace

std::string RenderTracePage(const trace::Trace& trace, const trace::TraceProfile& profile,
                            const trace::GoodnessOfFit& fit, const std::string& command) {
  std::string body = fmt::format(
      "<header>\n<p class=\"kicker\">Fairlead trace</p>\n<h1>{}</h1>\n<p>{}, {} of them with GPUs, beside what is "
      "published about {}.</p>\n</header>\n",
      report::EscapeMarkup(trace.title), report::FormatCount(fit.num_jobs, "job"),
      report::FormatCount(fit.num_gpu_jobs), report::EscapeMarkup(profile.name));
  body += "<section>\n<h2>Figures</h2>\n" + RenderFigure(DrawArrivals(trace, profile), "h3");
  body += "<div class=\"pair\">\n" + RenderFigure(DrawRunTimes(trace, profile), "h3") +
          RenderFigure(DrawSizes(trace, profile), "h3") + "</div>\n";
  for (const PageFigure& figure : DrawConcurrency(trace, profile)) body += RenderFigure(figure, "h3");
  body += "</section>\n" + RenderFitTable(fit) + RenderNotes(trace);
  body += fmt::format("<section>\n<h2>How to reproduce</h2>\n<pre>{}</pre>\n<p>Fairlead {}.</p>\n</section>\n",
                      report::EscapeMarkup(command), report::EscapeMarkup(kVersion));
  return report::RenderPage(trace.title, body);
}

}  // namespace fairlead::cli
