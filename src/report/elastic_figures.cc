// What an allocation policy made of jobs whose sizes change: completion times, waiting, and sizes over time.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "report/line_figure.h"
#include "report/number_format.h"
#include "report/page_figures.h"
#include "report/schedule_figure.h"

namespace fairlead::report {
namespace {

constexpr size_t kElasticLanesMax = 40;

using JobSeconds = double (*)(const sim::JobResult& job);

// The share of all jobs of a policy whose value is at most x, all draws pooled. Jobs without one are never reached.
LineSeries Distribution(const FigureInput& input, const std::string& policy, bool ended_only, JobSeconds value) {
  LineSeries series;
  series.label = policy;
  series.color = input.ColorOf(policy);
  series.stepped = true;
  std::vector<double> values;
  size_t num_jobs = 0;
  for (const sim::RunResult* run : input.RunsOf(policy)) {
    for (const sim::JobResult& job : run->jobs) {
      if (!job.allocation) continue;
      ++num_jobs;
      if (job.finished || !ended_only) values.push_back(value(job));
    }
  }
  std::ranges::sort(values);
  if (num_jobs > 0) series.points.push_back({0, 0});
  for (size_t i = 0; i < values.size(); ++i) {
    series.points.push_back({values[i], static_cast<double>(i + 1) / static_cast<double>(num_jobs)});
  }
  return series;
}

LineFigure DistributionFigure(const FigureInput& input, bool ended_only, JobSeconds value) {
  LineFigure figure;
  figure.width = 530;
  figure.height = 348;
  figure.y_label = "jobs at or below";
  figure.is_timeline = false;
  figure.y_domain = {0, 1};
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    figure.y_ticks.push_back({share, FormatFixed(100 * share, 0) + " %"});
  }
  for (const PolicySummary& summary : input.summaries) {
    LineSeries series = Distribution(input, summary.policy, ended_only, value);
    for (const Point& point : series.points) figure.x_domain.high = std::max(figure.x_domain.high, point.x);
    if (series.points.size() > 1) figure.series.push_back(std::move(series));
  }
  figure.x_ticks = PlanTimeTicks(figure.x_domain, 6);
  return figure;
}

ScheduleLane LaneOf(const sim::JobResult& job, uint32_t most_gpus, size_t color) {
  std::vector<HeldGpus> sizes;
  for (const sim::SizeChange& change : job.allocation->sizes) sizes.push_back({change.time_s, change.num_gpus});
  return SizeLane(job.name, job.arrival_s, job.end_s, sizes, most_gpus, color);
}

// Those that changed most often, in order of arrival.
std::vector<const sim::JobResult*> ChooseJobs(const sim::RunResult& run) {
  std::vector<const sim::JobResult*> jobs;
  for (const sim::JobResult& job : run.jobs) {
    if (job.allocation) jobs.push_back(&job);
  }
  std::ranges::stable_sort(jobs, std::greater(), [](const auto* job) { return job->allocation->sizes.size(); });
  jobs.resize(std::min(jobs.size(), kElasticLanesMax));
  std::ranges::stable_sort(jobs, {}, &sim::JobResult::arrival_s);
  return jobs;
}

// The first draw of the first policy of each allocation policy.
std::vector<const sim::RunResult*> FirstRuns(const sim::SimulationReport& report) {
  std::set<std::string> known;
  std::vector<const sim::RunResult*> runs;
  for (const sim::RunResult& run : report.runs) {
    if (!run.allocation.empty() && known.insert(run.allocation).second) runs.push_back(&run);
  }
  return runs;
}

}  // namespace

std::vector<PageFigure> DrawCompletionTimes(const FigureInput& input) {
  if (FirstRuns(input.report).empty()) return {};
  std::vector<PageFigure> figures;
  const auto add = [&](LineFigure figure, const char* title, const char* label, const char* caption) {
    if (figure.series.empty()) return;
    figure.title = title;
    figure.x_label = label;
    figure.description = fmt::format("{}, cumulative, one curve per policy.", title);
    for (const LineFigure& one : SplitByColors(figure)) figures.push_back({one.title, Draw(one), caption});
  };
  add(DistributionFigure(input, true, [](const sim::JobResult& job) { return job.end_s - job.arrival_s; }),
      "Completion times", "from arrival to end",
      "Jobs of all draws. Curves further up and left are better; jobs that did not end are never reached.");
  add(DistributionFigure(input, false, [](const sim::JobResult& job) { return job.allocation->waited_s; }),
      "Time without GPUs", "waited in all, from arrival to end", "Before the first start and after each stop.");
  return figures;
}

std::vector<PageFigure> DrawSizesOverTime(const FigureInput& input) {
  const std::vector<const sim::RunResult*> runs = FirstRuns(input.report);
  double end_s = 0;
  uint32_t most_gpus = 1;
  for (const sim::RunResult* run : runs) {
    for (const sim::JobResult* job : ChooseJobs(*run)) {
      end_s = std::max(end_s, job->end_s);
      for (const sim::SizeChange& change : job->allocation->sizes) most_gpus = std::max(most_gpus, change.num_gpus);
    }
  }
  std::vector<PageFigure> figures;
  for (const sim::RunResult* run : runs) {
    const std::vector<const sim::JobResult*> jobs = ChooseJobs(*run);
    if (jobs.empty() || !(end_s > 0)) continue;
    ScheduleFigure figure = SizesFigure(run->policy, jobs.size(), most_gpus, end_s);
    for (const sim::JobResult* job : jobs) {
      figure.lanes.push_back(LaneOf(*job, most_gpus, input.ColorOf(run->policy)));
    }
    std::string caption = fmt::format("First draw. A bar as high as its lane: {}; a thin line: the job waits.",
                                      FormatCount(most_gpus, "GPU"));
    if (jobs.size() < run->jobs.size()) {
      caption += fmt::format(" {} of {}: those that were resized most often.", FormatCount(jobs.size()),
                             FormatCount(run->jobs.size(), "job"));
    }
    figures.push_back({run->policy, Draw(figure), std::move(caption)});
  }
  return figures;
}

}  // namespace fairlead::report
