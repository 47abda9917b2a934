// How busy the GPUs were over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/page_figures.h"

namespace fairlead::report {
namespace {

constexpr size_t kNumTimeBinsMax = 400;

double EndOf(const sim::Timeline& timeline) { return timeline.bin_s * static_cast<double>(timeline.gpu_busy.size()); }

// Whether a bin says anything: with no job there is no utilization.
bool IsKnown(const sim::Timeline& timeline, size_t bin) {
  return std::isfinite(timeline.gpu_busy[bin]) &&
         (bin >= timeline.running_jobs.size() || timeline.running_jobs[bin] > 0);
}

// Mean of the timeline's known bins with their middle in [from, to); NaN when there are none.
double MeanBusy(const sim::Timeline& timeline, double from_s, double to_s) {
  double sum = 0;
  size_t count = 0;
  const double first = std::max(0.0, std::ceil(from_s / timeline.bin_s - 0.5));
  for (auto bin = static_cast<size_t>(first); bin < timeline.gpu_busy.size(); ++bin) {
    if ((static_cast<double>(bin) + 0.5) * timeline.bin_s >= to_s) break;
    if (!IsKnown(timeline, bin)) continue;
    sum += timeline.gpu_busy[bin];
    ++count;
  }
  return count == 0 ? std::nan("") : sum / static_cast<double>(count);
}

LineSeries MakeBusySeries(const FigureInput& input, const PolicySummary& summary, double step_s, size_t num_bins) {
  LineSeries series;
  series.label = summary.policy;
  series.color = input.ColorOf(summary.policy);
  const std::vector<const sim::RunResult*> runs = input.RunsOf(summary.policy);
  for (size_t bin = 0; bin < num_bins; ++bin) {
    const double from_s = static_cast<double>(bin) * step_s;
    std::vector<double> values;
    for (const sim::RunResult* run : runs) {
      if (run->timeline.bin_s > 0) values.push_back(MeanBusy(run->timeline, from_s, from_s + step_s));
    }
    const Spread spread = SpreadOf(values);
    const double unknown = std::nan("");
    series.points.push_back({from_s + step_s / 2, spread.known() ? spread.mean : unknown});
    series.band_low.push_back(spread.known() ? spread.min : unknown);
    series.band_high.push_back(spread.known() ? spread.max : unknown);
  }
  if (runs.size() < 2) {
    series.band_low.clear();
    series.band_high.clear();
  }
  return series;
}

}  // namespace

std::vector<PageFigure> DrawUtilization(const FigureInput& input) {
  double end_s = 0, step_s = 0;
  for (const sim::RunResult& run : input.report.runs) {
    if (!(run.timeline.bin_s > 0) || !std::isfinite(run.timeline.bin_s)) continue;
    end_s = std::max(end_s, EndOf(run.timeline));
    step_s = std::max(step_s, run.timeline.bin_s);
  }
  if (!(end_s > 0)) return {};
  step_s = std::max(step_s, end_s / static_cast<double>(kNumTimeBinsMax));
  const auto num_bins = static_cast<size_t>(std::ceil(end_s / step_s - 1e-6));
  LineFigure figure;
  figure.title = "GPU utilization over time";
  figure.description = "Share of held GPUs that compute, over simulated time, one curve per policy.";
  figure.x_label = "simulated time";
  figure.y_label = "GPU utilization (busy)";
  figure.x_domain = {0, end_s};
  figure.x_ticks = PlanTimeTicks(figure.x_domain, 10);
  for (const double value : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    figure.y_ticks.push_back({value, FormatFixed(100 * value, 0) + " %"});
  }
  bool has_band = false;
  for (const PolicySummary& summary : input.summaries) {
    figure.series.push_back(MakeBusySeries(input, summary, step_s, num_bins));
    has_band = has_band || !figure.series.back().band_low.empty();
  }
  std::string caption = "Share of the GPUs of running jobs that compute.";
  if (has_band) caption += " Curve: mean over draws; band: minimum to maximum.";
  caption += fmt::format(" Averages over {}; gaps are times without a running job.", FormatDuration(step_s));
  return {{figure.title, Draw(figure), caption}};
}

}  // namespace fairlead::report
