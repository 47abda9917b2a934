// How slow the jobs were, all together and those that changed most.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/printable_text.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumDistributionPointsMax = 300;
constexpr size_t kNumChangesShown = 14;

std::vector<double> SortedSlowdowns(const sim::SimulationReport& report, const std::string& policy) {
  std::vector<double> slowdowns;
  for (const sim::RunResult& run : report.runs) {
    if (run.policy != policy) continue;
    for (const sim::JobResult& job : run.jobs) {
      if (std::isfinite(job.slowdown) && job.slowdown > 0) slowdowns.push_back(job.slowdown);
    }
  }
  std::sort(slowdowns.begin(), slowdowns.end());
  return slowdowns;
}

// Round slowdowns, and full speed where the axis begins there.
std::vector<Tick> PlanSlowdownTicks(Interval domain, size_t num_max) {
  std::vector<Tick> ticks = PlanTicks(domain, num_max, "x");
  const double room = 0.08 * domain.length();  // that two labels need
  if (domain.low == 1 && !ticks.empty() && ticks.front().value > 1 + room) ticks.insert(ticks.begin(), {1, "1x"});
  return ticks;
}

// Empirical distribution: at each slowdown the share of jobs at or below it; long ones thinned out evenly.
LineSeries MakeDistribution(const std::vector<double>& sorted, Interval domain) {
  LineSeries series;
  series.stepped = true;
  series.points.push_back({domain.low, 0});
  const size_t stride = sorted.size() / kNumDistributionPointsMax + 1;
  const auto count = static_cast<double>(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const bool last = i + 1 == sorted.size();
    if (i % stride != 0 && !last) continue;
    if (sorted[i] > domain.high) break;
    series.points.push_back({sorted[i], static_cast<double>(i + 1) / count});
  }
  series.points.push_back({domain.high, series.points.back().y});
  return series;
}

// From 1, or the least slowdown, to a bit past the largest; a few jobs far beyond the rest are left outside.
Interval ChooseSlowdownDomain(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  const double p99 = all[std::min(all.size() - 1, all.size() * 99 / 100)];
  const double high = std::min(all.back(), std::max(1 + 2 * (p99 - 1), 1.2));
  return {std::min(1.0, all.front()), std::max(1.05, high + 0.02 * (high - 1))};
}

constexpr double kChangeRowHeight = 19;
constexpr double kChangeTop = 34;

void DrawChangeAxis(const Box& frame, const LinearScale& x, const std::vector<Tick>& ticks, SvgFigure& svg) {
  for (const Tick& tick : ticks) {
    svg.AddLine({x(tick.value), frame.y}, {x(tick.value), frame.y + frame.height}, "grid");
    svg.AddText({x(tick.value), frame.y + frame.height + 17}, tick.label, "tick", Anchor::kMiddle);
  }
  svg.AddText({frame.x + frame.width, frame.y + frame.height + 35},
              "slowdown (time held relative to the same work alone)", "axis-label", Anchor::kEnd);
}

void DrawChangeRow(const FigureInput& input, const PolicyComparison& comparison, const JobChange& job, double y,
                   const Box& frame, const LinearScale& x, SvgFigure& svg) {
  svg.AddText({frame.x - 10, y + 4}, TruncateToWidth(fmt::format("{} {}", job.id.value(), CleanText(job.name)), 22),
              "tick", Anchor::kEnd);
  svg.AddLine({x(job.slowdown_before), y}, {x(job.slowdown_after), y}, "connector");
  const auto dot = [&](const std::string& policy, double slowdown) {
    svg.AddDot({x(slowdown), y}, 4.5, SeriesStyle(input.ColorOf(policy)) + " dot",
               fmt::format("{}: {}", policy, FormatSlowdown(slowdown)));
  };
  dot(comparison.baseline, job.slowdown_before);
  dot(comparison.candidate, job.slowdown_after);
  const std::string won = FormatShort(job.gpu_hours_won_per_day);
  svg.AddText({frame.x + frame.width + 60, y + 4}, job.gpu_hours_won_per_day > 0 ? "+" + won : won, "tick",
              Anchor::kEnd);
}

// Most GPU-hours won or lost, won first.
std::vector<JobChange> ChooseChanges(const PolicyComparison& comparison) {
  std::vector<JobChange> changes;
  for (const JobChange& job : comparison.jobs) {
    if (job.comparable() && std::isfinite(job.gpu_hours_won_per_day)) changes.push_back(job);
  }
  std::stable_sort(changes.begin(), changes.end(), [](const JobChange& a, const JobChange& b) {
    return std::abs(a.gpu_hours_won_per_day) > std::abs(b.gpu_hours_won_per_day);
  });
  changes.resize(std::min(changes.size(), kNumChangesShown));
  std::stable_sort(changes.begin(), changes.end(), [](const JobChange& a, const JobChange& b) {
    return a.gpu_hours_won_per_day > b.gpu_hours_won_per_day;
  });
  return changes;
}

PageFigure DrawChangesOf(const FigureInput& input, const PolicyComparison& comparison) {
  const std::vector<JobChange> changes = ChooseChanges(comparison);
  if (changes.empty()) return {};
  double low = 1, high = 1.05;
  for (const JobChange& job : changes) {
    low = std::min({low, job.slowdown_before, job.slowdown_after});
    high = std::max({high, job.slowdown_before, job.slowdown_after});
  }
  const Box frame = {158, kChangeTop, 300, kChangeRowHeight * static_cast<double>(changes.size())};
  const Interval domain = {low, high + 0.03 * (high - low)};
  const LinearScale x(domain, {frame.x, frame.x + frame.width});
  SvgFigure svg(530, frame.y + frame.height + 44, "Slowdown of the jobs that changed most",
                fmt::format("Slowdown of {} under {} and under {}.", FormatCount(changes.size(), "job"),
                            comparison.baseline, comparison.candidate));
  double left = frame.x;
  for (const std::string& policy : {comparison.baseline, comparison.candidate}) {
    const std::string label = TruncateToWidth(CleanText(policy), 14);
    svg.AddDot({left + 4, 9}, 4.5, SeriesStyle(input.ColorOf(policy)) + " dot");
    svg.AddText({left + 14, 13}, label, SeriesStyle(input.ColorOf(policy)) + " curve-label");
    left += LabelWidth(label) + 36;
  }
  svg.AddText({528, 13}, "GPU-hours won per day", "axis-label", Anchor::kEnd);
  DrawChangeAxis(frame, x, PlanSlowdownTicks(domain, 6), svg);
  for (size_t i = 0; i < changes.size(); ++i) {
    DrawChangeRow(input, comparison, changes[i], frame.y + kChangeRowHeight * (static_cast<double>(i) + 0.5), frame, x,
                  svg);
  }
  PageFigure figure;
  figure.heading = fmt::format("Jobs that gained and lost: {} against {}", comparison.candidate, comparison.baseline);
  figure.svg = svg.Finish();
  figure.caption =
      fmt::format("The {} with the largest change in GPU-hours; means over draws.", FormatCount(changes.size(), "job"));
  return figure;
}

}  // namespace

std::vector<PageFigure> DrawSlowdowns(const FigureInput& input) {
  std::vector<std::vector<double>> slowdowns;
  std::vector<double> all;
  for (const PolicySummary& summary : input.summaries) {
    slowdowns.push_back(SortedSlowdowns(input.report, summary.policy));
    all.insert(all.end(), slowdowns.back().begin(), slowdowns.back().end());
  }
  if (all.empty()) return {};
  LineFigure figure;
  figure.title = "Slowdowns of all jobs";
  figure.description = "Cumulative distribution of slowdowns, one curve per policy.";
  figure.x_label = "slowdown (time held relative to the same work alone)";
  figure.y_label = "jobs at or below";
  figure.width = 530;
  figure.height = 348;
  figure.x_domain = ChooseSlowdownDomain(all);
  figure.x_ticks = PlanSlowdownTicks(figure.x_domain, 7);
  for (const double value : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    figure.y_ticks.push_back({value, FormatFixed(100 * value, 0) + " %"});
  }
  for (size_t i = 0; i < slowdowns.size(); ++i) {
    if (slowdowns[i].empty()) continue;
    LineSeries series = MakeDistribution(slowdowns[i], figure.x_domain);
    series.label = input.summaries[i].policy;
    series.color = input.ColorOf(input.summaries[i].policy);
    figure.series.push_back(std::move(series));
  }
  std::string caption = "All jobs that started, over all draws. Curves further up and left are better.";
  const auto num_beyond = static_cast<uint64_t>(
      std::count_if(all.begin(), all.end(), [&figure](double s) { return s > figure.x_domain.high; }));
  if (num_beyond > 0) {
    caption += fmt::format(" {} of {} lie beyond the right edge, up to {}.", FormatCount(num_beyond),
                           FormatCount(all.size()), FormatSlowdown(*std::max_element(all.begin(), all.end())));
  }
  std::vector<PageFigure> figures;
  for (const LineFigure& one : SplitByColors(figure)) figures.push_back({one.title, Draw(one), caption});
  return figures;
}

std::vector<PageFigure> DrawJobChanges(const FigureInput& input) {
  std::vector<PageFigure> figures;
  for (const PolicyComparison& comparison : input.comparisons) {
    PageFigure figure = DrawChangesOf(input, comparison);
    if (!figure.svg.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace fairlead::report
