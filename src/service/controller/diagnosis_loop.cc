#include "service/controller/diagnosis_loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <variant>

namespace fairlead::service {
namespace {

using controller::Noted;
using controller::SteeringEvent;
using std::chrono::duration_cast;
using std::chrono::nanoseconds;

// "2 hosts", "1 host".
std::string Count(size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

SimTime SteadyUnixTime() {
  using std::chrono::steady_clock;
  using std::chrono::system_clock;
  static const nanoseconds kOffset = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()) -
                                     duration_cast<nanoseconds>(steady_clock::now().time_since_epoch());
  return SimTime((duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()) + kOffset).count());
}

DiagnosisLoop::DiagnosisLoop(const DiagnosisLoopOptions& options, const topology::Fabric& fabric,
                             diagnosis::JobDiagnosisFactory make_diagnosis, Outputs outputs,
                             const std::function<void(controller::JobWatch&)>& prepare)
    : options_(options), outputs_(std::move(outputs)), watch_(fabric, std::move(make_diagnosis), options.watch) {
  if (prepare) prepare(watch_);
  thread_ = std::thread([this] { Run(); });
}

DiagnosisLoop::~DiagnosisLoop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stopping_.notify_all();
  thread_.join();
}

void DiagnosisLoop::Put(controller::WatchInput input) {
  const std::lock_guard lock(mutex_);
  if (inbox_.size() >= options_.num_waiting_max) {
    ++counters_.looks_dropped;
    return;
  }
  inbox_.push_back({options_.clock ? options_.clock() : SteadyUnixTime(), std::move(input)});
}

void DiagnosisLoop::Excuse(JobId job, SimTime until) {
  const std::lock_guard lock(watch_mutex_);
  watch_.Excuse(job, until);
}

DiagnosisLoopCounters DiagnosisLoop::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void DiagnosisLoop::Run() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (stopping_.wait_for(lock, options_.tick, [this] { return is_stopping_; })) return;
    }
    Tick();
  }
}

void DiagnosisLoop::Tick() {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Arrived> arrived;
  SimTime now;
  {
    const std::lock_guard lock(mutex_);
    arrived = std::exchange(inbox_, {});
    now = options_.clock ? options_.clock() : SteadyUnixTime();
  }
  std::vector<SteeringEvent> events;
  std::vector<std::pair<HostId, controller::HostJudged>> judged;
  std::vector<controller::SlowEndQuestion> questions;
  {
    const std::lock_guard lock(watch_mutex_);
    for (const Arrived& one : arrived) watch_.Take(one.at, one.input);
    events = watch_.Tick(now);
    judged = watch_.TakeJudged();
    questions = watch_.TakeQuestions();
  }
  {
    const std::lock_guard lock(mutex_);
    counters_.handling += Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  for (const SteeringEvent& event : events) Note(now, event);
  if (outputs_.judge) {
    for (const auto& [host, about] : judged) outputs_.judge(host, about);
  }
  if (outputs_.ask) {
    for (const controller::SlowEndQuestion& question : questions) outputs_.ask(question);
  }
  if (outputs_.steer) outputs_.steer(now, events);
}

void DiagnosisLoop::Note(SimTime now, const SteeringEvent& event) {
  const auto note = [&](Noted::Severity severity, JobId job, std::string text) {
    if (outputs_.listener) outputs_.listener(now, Noted{severity, "job " + names_[job], std::move(text)});
  };
  if (const auto* running = std::get_if<controller::JobRunning>(&event)) {
    names_[running->job] = Ask([&](const controller::JobWatch& watch) { return watch.JobName(running->job); });
    note(Noted::Severity::kInfo, running->job, "runs, and is diagnosed, on " + Count(running->hosts.size(), "host"));
  } else if (const auto* gone = std::get_if<controller::JobGone>(&event)) {
    if (!names_.contains(gone->job)) return;
    note(Noted::Severity::kInfo, gone->job, "is over");
    names_.erase(gone->job);
  } else if (const auto* reported = std::get_if<controller::FindingReported>(&event)) {
    const model::Finding& finding = reported->finding;
    const bool is_over = finding.state == model::FindingState::kCleared;
    if (is_over ? noted_.erase(finding.id) == 0 : !noted_.insert(finding.id).second) return;
    note(is_over ? Noted::Severity::kInfo : Noted::Severity::kWarning, finding.job,
         fmt::format("{}{}: {} (finding {})", model::Name(finding.syndrome), is_over ? " is over" : "", finding.summary,
                     finding.id.value()));
  }
}

}  // namespace fairlead::service
