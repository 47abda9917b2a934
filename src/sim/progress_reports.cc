#include "sim/progress_reports.h"

#include <algorithm>

#include "traffic/traffic_policy.h"

namespace fairlead::sim {

ProgressReports::ProgressReports(SimDuration speed_interval) : speed_interval_(speed_interval) {
  if (speed_interval_.ns() > 0) next_speeds_ = SimTime() + speed_interval_;
}

void ProgressReports::ReportProgress(const SimulatedJobs& jobs, std::vector<controller::Event>* events) {
  for (const JobId id : jobs.running()) {
    const JobRecord& record = jobs.at(id);
    const JobState& state = *record.state;
    Reported& reported = reported_[id];
    const uint64_t ended = state.iterations_done - reported.iterations;
    const Seconds took = (state.last_iteration_end - reported.iteration_end).seconds();
    controller::JobProgressed progress{
        .job = id,
        .iterations_done = static_cast<double>(record.past_iterations + state.iterations_done),
        .iteration_time = Seconds(0),
        .measured_for = took};
    if (ended > 0) progress.iteration_time = took / static_cast<double>(ended);
    reported.iterations = state.iterations_done;
    reported.iteration_end = state.last_iteration_end;
    events->emplace_back(progress);
  }
}

void ProgressReports::ReportSpeeds(SimTime now, const SimulatedJobs& jobs, std::vector<controller::Event>* events) {
  next_speeds_ = now + speed_interval_;
  for (const JobId id : jobs.running()) {
    const JobState& state = *jobs.at(id).state;
    Reported& reported = reported_[id];
    const double progress_s = state.Work(now) * static_cast<double>(state.solo.iteration_ns) * 1e-9;
    const double span_s = std::min((now - state.first_start).seconds(), speed_interval_.seconds()).value();
    if (span_s <= 0) continue;
    const double speed = std::clamp((progress_s - reported.progress_s) / span_s, 0.0, 1.0);
    reported.progress_s = progress_s;
    reported.starved_for += Seconds(span_s * (1 - speed / traffic::kStarvedBelow));
    reported.starved_for = std::max(reported.starved_for, Seconds(0));
    events->emplace_back(controller::JobSpeedMeasured{id, speed, reported.starved_for});
  }
}

}  // namespace fairlead::sim
