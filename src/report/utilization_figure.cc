// How busy GPUs and network were over time, and how many jobs ran.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/page_figures.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumTimeBinsMax = 400;

double EndOf(const sim::Timeline& timeline) { return timeline.bin_s * static_cast<double>(timeline.gpu_busy.size()); }

// One quantity of a timeline. Returns NaN where a bin says nothing.
using BinValue = double (*)(const sim::Timeline& timeline, size_t bin);

// With no job there is no utilization.
double BusyOf(const sim::Timeline& timeline, size_t bin) {
  const bool is_known = bin >= timeline.running_jobs.size() || timeline.running_jobs[bin] > 0;
  return is_known ? timeline.gpu_busy[bin] : std::nan("");
}

double NetworkOf(const sim::Timeline& timeline, size_t bin) {
  return bin < timeline.network_load.size() ? timeline.network_load[bin] : std::nan("");
}

double JobsOf(const sim::Timeline& timeline, size_t bin) {
  return bin < timeline.running_jobs.size() ? timeline.running_jobs[bin] : std::nan("");
}

// Mean of the timeline's known bins with their middle in [from, to); NaN when there are none.
double MeanOf(const sim::Timeline& timeline, BinValue value, double from_s, double to_s) {
  double sum = 0;
  size_t count = 0;
  const double first = std::max(0.0, std::ceil(from_s / timeline.bin_s - 0.5));
  for (auto bin = static_cast<size_t>(first); bin < timeline.gpu_busy.size(); ++bin) {
    if ((static_cast<double>(bin) + 0.5) * timeline.bin_s >= to_s) break;
    const double one = value(timeline, bin);
    if (!std::isfinite(one)) continue;
    sum += one;
    ++count;
  }
  return count == 0 ? std::nan("") : sum / static_cast<double>(count);
}

// The same bins for all figures.
struct TimeBins {
  double step_s = 0;
  size_t count = 0;  // 0: nothing was recorded
  double end_s = 0;
};

TimeBins PlanBins(const sim::SimulationReport& report) {
  TimeBins bins;
  for (const sim::RunResult& run : report.runs) {
    if (!(run.timeline.bin_s > 0) || !std::isfinite(run.timeline.bin_s)) continue;
    bins.end_s = std::max(bins.end_s, EndOf(run.timeline));
    bins.step_s = std::max(bins.step_s, run.timeline.bin_s);
  }
  if (!(bins.end_s > 0)) return {};
  bins.step_s = std::max(bins.step_s, bins.end_s / static_cast<double>(kNumTimeBinsMax));
  bins.count = static_cast<size_t>(std::ceil(bins.end_s / bins.step_s - 1e-6));
  return bins;
}

LineSeries MakeSeries(const FigureInput& input, const PolicySummary& summary, BinValue value, const TimeBins& bins) {
  LineSeries series;
  series.label = summary.policy;
  series.color = input.ColorOf(summary.policy);
  const std::vector<const sim::RunResult*> runs = input.RunsOf(summary.policy);
  for (size_t bin = 0; bin < bins.count; ++bin) {
    const double from_s = static_cast<double>(bin) * bins.step_s;
    std::vector<double> values;
    for (const sim::RunResult* run : runs) {
      if (run->timeline.bin_s > 0) values.push_back(MeanOf(run->timeline, value, from_s, from_s + bins.step_s));
    }
    const Spread spread = SpreadOf(values);
    const double unknown = std::nan("");
    series.points.push_back({from_s + bins.step_s / 2, spread.known() ? spread.mean : unknown});
    series.band_low.push_back(spread.known() ? spread.min : unknown);
    series.band_high.push_back(spread.known() ? spread.max : unknown);
  }
  if (runs.size() < 2) {
    series.band_low.clear();
    series.band_high.clear();
  }
  return series;
}

// Of the first draw of the policy that is compared with the baseline first; at most that many: more are no news.
std::vector<double> ReplansOf(const FigureInput& input) {
  constexpr size_t kReplansMax = 200;
  if (input.comparisons.empty()) return {};
  const auto runs = input.RunsOf(input.comparisons.front().candidate);
  if (runs.empty()) return {};
  std::vector<double> times;
  for (const sim::ControlChange& change : runs.front()->control) times.push_back(change.time_s);
  if (times.size() > kReplansMax) times.clear();
  return times;
}

// One curve for each policy, over all of the time.
LineFigure MakeFigure(const FigureInput& input, BinValue value, const TimeBins& bins) {
  LineFigure figure;
  figure.x_label = "simulated time";
  figure.x_domain = {0, bins.end_s};
  figure.x_ticks = PlanTimeTicks(figure.x_domain, 10);
  for (const PolicySummary& summary : input.summaries) {
    figure.series.push_back(MakeSeries(input, summary, value, bins));
  }
  figure.marks = input.link_changes;
  figure.notches = ReplansOf(input);
  return figure;
}

std::vector<PageFigure> DrawAll(const LineFigure& figure, const std::string& caption) {
  std::vector<PageFigure> figures;
  for (const LineFigure& one : SplitByColors(figure)) figures.push_back({one.title, Draw(one), caption});
  return figures;
}

// Mean over the draws of a policy; NaN: nothing is known of that time.
double MeanBusy(const FigureInput& input, const std::string& policy, double from_s, double to_s) {
  std::vector<double> values;
  for (const sim::RunResult* run : input.RunsOf(policy)) {
    if (run->timeline.bin_s > 0) values.push_back(MeanOf(run->timeline, BusyOf, from_s, to_s));
  }
  const Spread spread = SpreadOf(values);
  return spread.known() ? spread.mean : std::nan("");
}

void AddPercentTicks(double high, LineFigure* figure) {
  figure->y_domain = {0, high};
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    figure->y_ticks.push_back({share * high, FormatFixed(100 * share * high, high < 1 ? 1 : 0) + " %"});
  }
}

double GreatestOf(const LineFigure& figure) {
  double most = 0;
  for (const LineSeries& series : figure.series) {
    for (const Point& point : series.points) {
      if (std::isfinite(point.y)) most = std::max(most, point.y);
    }
    for (const double value : series.band_high) {
      if (std::isfinite(value)) most = std::max(most, value);
    }
  }
  return most;
}

}  // namespace

std::vector<PageFigure> DrawUtilization(const FigureInput& input) {
  const TimeBins bins = PlanBins(input.report);
  if (bins.count == 0) return {};
  LineFigure figure = MakeFigure(input, BusyOf, bins);
  figure.title = "GPU utilization over time";
  figure.description = "Share of held GPUs that compute, over simulated time, one curve per policy.";
  figure.y_label = "GPU utilization (busy)";
  AddPercentTicks(1, &figure);
  std::string caption = "Share of the GPUs of running jobs that compute.";
  const bool has_band = std::ranges::any_of(figure.series, [](const LineSeries& one) { return !one.band_low.empty(); });
  if (has_band) caption += " Curve: mean over draws; band: minimum to maximum.";
  caption += fmt::format(" Averages over {}; gaps are times without a running job.", FormatDuration(bins.step_s));
  if (!figure.notches.empty()) {
    caption +=
        fmt::format(" Short lines at the axis: re-plans of {} that changed jobs.", input.comparisons.front().candidate);
  }
  return DrawAll(figure, caption);
}

std::vector<std::string> CompareStretches(const FigureInput& input) {
  const TimeBins bins = PlanBins(input.report);
  if (bins.count == 0 || input.link_changes.empty()) return {};
  const double first_s = input.link_changes.front().x, last_s = input.link_changes.back().x;
  struct Stretch {
    std::string name;
    double from_s, to_s;
  };
  const Stretch stretches[] = {
      {fmt::format("Before the first change, at {}", FormatDuration(first_s)), 0, first_s},
      {fmt::format("From then to the last change, at {}", FormatDuration(last_s)), first_s, last_s},
      {fmt::format("After it, to {}", FormatDuration(bins.end_s)), last_s, bins.end_s},
  };
  std::vector<std::string> sentences;
  for (const Stretch& stretch : stretches) {
    std::vector<std::string> parts;
    for (const PolicySummary& summary : input.summaries) {
      const double busy = MeanBusy(input, summary.policy, stretch.from_s, stretch.to_s);
      if (std::isfinite(busy)) parts.push_back(fmt::format("{} {}", summary.policy, FormatPercent(busy)));
    }
    if (!parts.empty()) sentences.push_back(fmt::format("{}: busy under {}.", stretch.name, fmt::join(parts, ", ")));
  }
  return sentences;
}

std::vector<PageFigure> DrawNetworkOverTime(const FigureInput& input) {
  const TimeBins bins = PlanBins(input.report);
  if (bins.count == 0) return {};
  std::vector<PageFigure> figures;
  LineFigure load = MakeFigure(input, NetworkOf, bins);
  if (const double most = GreatestOf(load); most > 0) {
    load.title = "Load of the network over time";
    load.description = "Bytes carried on all network links over their capacity, one curve per policy.";
    load.y_label = "load of all network links";
    load.height = 220;
    // Round percents, so that labels are exact.
    AddPercentTicks(std::min(1.0, most > 0.25 ? std::ceil(most * 5) / 5 : std::ceil(most * 50) / 50), &load);
    figures = DrawAll(load, "Bytes carried relative to the capacity of all network links.");
  }
  LineFigure jobs = MakeFigure(input, JobsOf, bins);
  if (GreatestOf(jobs) > 0) {
    jobs.title = "Running jobs over time";
    jobs.description = "Jobs that hold GPUs, one curve per policy.";
    jobs.y_label = "running jobs";
    jobs.height = 200;
    jobs.y_domain = {0, GreatestOf(jobs)};
    jobs.y_ticks = PlanTicks(jobs.y_domain, 5);
    for (PageFigure& figure : DrawAll(jobs, "")) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace fairlead::report
