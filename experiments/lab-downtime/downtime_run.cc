#include "experiments/lab-downtime/downtime_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/steady_seconds.h"

namespace fairlead::experiments::lab_downtime {

namespace {

using lab::JobProgress;
using lab::LabNodeId;

class FaultyRun {
 public:
  FaultyRun(lab::SteeredLab* lab, const DowntimeOptions& options) : lab_(lab), options_(options) {}

  Result<DowntimeRun> Run() {
    FL_RETURN_IF_ERROR(lab_->StartJob(job()));
    begin_s_ = SteadySeconds();
    first_ = runner().ProgressOf(job());
    last_ = first_;
    moved_at_s_ = begin_s_;
    Status failure;
    const auto is_over = [&] {
      if (failure.ok()) failure = Step();
      return !failure.ok() || SteadySeconds() - begin_s_ >= options_.seconds;
    };
    while (!is_over()) FL_RETURN_IF_ERROR(lab_->WaitUntil(options_.seconds, is_over).status());
    FL_RETURN_IF_ERROR(failure);
    FL_RETURN_IF_ERROR(lab_->injector().Undo());
    run_.seconds = SteadySeconds() - begin_s_;
    run_.progress.push_back({run_.seconds, IterationsDone()});
    run_.iterations = IterationsDone();
    run_.restarts = last_.run - first_.run;
    return std::move(run_);
  }

 private:
  static JobId job() { return JobId(0u); }
  lab::JobRunner& runner() { return lab_->runner(); }

  void Note(const std::string& what) {
    run_.notes.push_back(fmt::format("{:.0f} s: {}", SteadySeconds() - begin_s_, what));
  }

  Status Step() {
    for (const wire::LiveFinding& finding : lab_->TakeFindings()) Note("found: " + finding.text);
    FL_RETURN_IF_ERROR(NoteProgress());
    FL_RETURN_IF_ERROR(Watchdog());
    return PlantNext();
  }

  // What broke is mended when the job has left it, or was restarted.
  Status NoteProgress() {
    const JobProgress now = runner().ProgressOf(job());
    if (!now.iteration || now == last_) return OkStatus();
    const bool is_new_run = now.run != last_.run;
    if (is_new_run) Note(fmt::format("run {} goes on from iteration {}", now.run, *now.iteration));
    last_ = now;
    moved_at_s_ = SteadySeconds();
    NotePoint();
    return is_new_run ? lab_->injector().Undo() : OkStatus();
  }

  void NotePoint() {
    const double at_s = moved_at_s_ - begin_s_;
    if (!run_.progress.empty() && at_s < run_.progress.back().at_s + 1) return;
    run_.progress.push_back({at_s, IterationsDone()});
  }

  // A checkpoint may be older than the iteration that the run was first seen in.
  uint64_t IterationsDone() const { return std::max(*last_.iteration, *first_.iteration) - *first_.iteration; }

  Status PlantNext() {
    if (next_ == options_.faults.size() || SteadySeconds() - begin_s_ < options_.faults[next_].at_s) return OkStatus();
    // A job that is still being mended is not broken once more.
    if (lab_->injector().IsPlanted() || !lab_->IsWhole(job())) return OkStatus();
    if (next_ == 0) {
      const double iterations = static_cast<double>(*last_.iteration - *first_.iteration);
      run_.usual_iteration_s = (last_.ended_s - first_.ended_s) / std::max(1.0, iterations);
    }
    const lab::LabFault& fault = options_.faults[next_++].fault;
    Note(fmt::format("planted: {} at worker {}", lab::Name(fault.kind), fault.worker));
    return lab_->injector().Apply(job(), fault);
  }

  // Launchers see processes that end; what hangs is seen by the watchdog only. With C4D processes that end are left to
  // steering, and the watchdog has what C4D can't place.
  Status Watchdog() {
    const bool hangs = SteadySeconds() - moved_at_s_ > options_.watchdog_s;
    const bool is_broken = !options_.has_c4d && !lab_->IsWhole(job());
    if (!is_broken && !hangs) return OkStatus();
    Note(hangs ? "the watchdog has waited long enough" : "a process has ended");
    moved_at_s_ = SteadySeconds();
    return runner().Restart(job(), WithoutFaultyHost());
  }

  std::vector<LabNodeId> WithoutFaultyHost() {
    std::vector<LabNodeId> hosts = runner().HostsOf(job());
    const LabNodeId faulty = lab_->injector().faulty_host();
    const std::set<LabNodeId> used(hosts.begin(), hosts.end());
    for (LabNodeId& host : hosts) {
      if (!faulty.valid() || host != faulty) continue;
      // From the end: steering takes the first one.
      LabNodeId spare(options_.num_hosts - 1);
      while (used.contains(spare)) spare = LabNodeId(spare.index() - 1);
      host = spare;
    }
    return hosts;
  }

  lab::SteeredLab* lab_;
  const DowntimeOptions& options_;
  DowntimeRun run_;
  double begin_s_ = 0;
  double moved_at_s_ = 0;
  JobProgress first_;
  JobProgress last_;
  size_t next_ = 0;  // fault
};

}  // namespace

double DowntimeRun::DowntimeShare() const {
  return seconds <= 0 ? 0 : 1 - static_cast<double>(iterations) * usual_iteration_s / seconds;
}

Result<DowntimeRun> RunWithFaults(lab::SteeredLab* lab, const DowntimeOptions& options) {
  return FaultyRun(lab, options).Run();
}

}  // namespace fairlead::experiments::lab_downtime
