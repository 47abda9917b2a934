#include "experiments/crux-trace-grid/trace_windows.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fairlead::experiments::crux_trace_grid {

namespace {

constexpr double kHourS = 3600;
constexpr double kFirstHour = 24;

bool HoldsGpus(const model::Job& job, double at_s) {
  const double arrival_s = job.arrival.seconds().value();
  return arrival_s <= at_s && at_s < arrival_s + job.hold_time.seconds().value();
}

}  // namespace

std::vector<TraceWindow> ChooseWindows(std::span<const sim::ScenarioJob> jobs, double length_s,
                                       std::span<const WindowRule> rules) {
  std::vector<TraceWindow> hours;
  for (double hour = kFirstHour; hour * kHourS < length_s; ++hour) {
    TraceWindow& window = hours.emplace_back(TraceWindow{.name = "", .at_s = hour * kHourS});
    for (const sim::ScenarioJob& entry : jobs) {
      if (!HoldsGpus(entry.job, window.at_s)) continue;
      window.num_gpus += entry.job.num_gpus;
      ++window.num_jobs;
    }
  }
  FL_CHECK_MSG(!hours.empty(), "a trace of more than a day");
  std::ranges::stable_sort(hours, {}, &TraceWindow::num_gpus);
  std::vector<TraceWindow> chosen;
  for (const WindowRule& rule : rules) {
    const double place = rule.rank * static_cast<double>(hours.size() - 1);
    chosen.push_back(hours[static_cast<size_t>(std::lround(place))]);
    chosen.back().name = rule.name;
  }
  return chosen;
}

std::vector<sim::ScenarioJob> JobsAt(std::span<const sim::ScenarioJob> jobs, double at_s) {
  std::vector<sim::ScenarioJob> kept;
  for (const sim::ScenarioJob& entry : jobs) {
    if (!HoldsGpus(entry.job, at_s)) continue;
    sim::ScenarioJob& job = kept.emplace_back(entry);
    job.job.id = JobId(kept.size() - 1);
    job.job.arrival = SimTime();
    job.job.hold_time = SimDuration();
  }
  return kept;
}

}  // namespace fairlead::experiments::crux_trace_grid
