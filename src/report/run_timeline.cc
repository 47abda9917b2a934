#include "report/run_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "report/json_value.h"
#include "report/loss_labels.h"
#include "report/number_format.h"
#include "report/trace_events.h"

namespace fairlead::report {

namespace {

// Tracks of a job's process.
enum Track : int { kIterations = 1, kCompute, kCommunication, kHeldUp };

// The events of one run. Its processes have the numbers from `first_process` on: links, cluster, then jobs.
class RunEvents {
 public:
  RunEvents(const sim::RunResult& run, int first_process, TraceEvents* events)
      : run_(run), recording_(*run.recording), first_process_(first_process), events_(events) {
    std::vector<const sim::JobResult*> jobs;
    for (const sim::JobResult& job : run.jobs) jobs.push_back(&job);
    std::ranges::stable_sort(jobs, std::greater<>(), &sim::JobResult::lost_gpu_hours);
    for (const sim::JobResult* job : jobs) {
      names_[job->id] = job->name;
      process_of_.try_emplace(job->id, first_process + 2 + static_cast<int>(process_of_.size()));
    }
    for (const sim::ActivitySpan& span : recording_.spans) {
      if (span.activity == sim::Activity::kPhase) phases_[span.job].push_back(&span);
    }
  }

  int num_processes() const { return 2 + static_cast<int>(process_of_.size()); }

  void AddAll() {
    AddProcesses();
    for (const sim::ActivitySpan& span : recording_.spans) AddActivity(span);
    for (const sim::HeldUpSpan& span : recording_.held_up) AddHeldUp(span);
    for (const sim::LinkLoad& load : recording_.loads) AddLoad(load);
    for (const sim::ControlChange& change : run_.control) AddControl(change);
  }

 private:
  int links_process() const { return first_process_; }
  int cluster_process() const { return first_process_ + 1; }

  void AddProcesses() {
    const auto add = [&](int process, const std::string& name) {
      events_->NameProcess(process, fmt::format("{}: {}", run_.policy, name));
    };
    add(links_process(), "links");
    add(cluster_process(), "cluster");
    for (const sim::JobResult& job : run_.jobs) {
      const int process = process_of_.at(job.id);
      add(process, fmt::format("{}, {}, lost {} GPU-hours", job.name, FormatCount(job.num_gpus, "GPU"),
                               FormatShort(job.lost_gpu_hours)));
      events_->NameTrack(process, kIterations, "iterations");
      events_->NameTrack(process, kCompute, "compute");
      events_->NameTrack(process, kCommunication, "communication");
      events_->NameTrack(process, kHeldUp, "held up");
    }
  }

  void AddActivity(const sim::ActivitySpan& span) {
    const int process = process_of_.at(span.job);
    switch (span.activity) {
      case sim::Activity::kIteration:
        return events_->AddSlice(process, kIterations, span.from, span.to,
                                 fmt::format("iteration {}", span.iteration + 1), {});
      case sim::Activity::kCompute:
        return events_->AddSlice(process, kCompute, span.from, span.to, "compute", {});
      case sim::Activity::kPhase:
        return events_->AddSlice(process, kCommunication, span.from, span.to,
                                 recording_.phase_names.at(span.job)[span.phase], {});
    }
  }

  void AddHeldUp(const sim::HeldUpSpan& span) {
    const int process = process_of_.at(span.job);
    const auto culprit = names_.find(span.culprit);
    const auto link = recording_.links.find(span.link);
    std::string name = culprit != names_.end() ? culprit->second : std::string(CausePhrase(span.cause));
    if (link != recording_.links.end()) name += " on " + link->second.name;
    Json args = {{"cause", sim::LossCauseName(span.cause)}, {"missing_share_of_rate", span.missing}};
    events_->AddSlice(process, kHeldUp, span.from, span.to, name, std::move(args));
    if (culprit != names_.end()) AddArrow(span);
  }

  // An arrow begins in a slice: the culprit's communication at that instant.
  void AddArrow(const sim::HeldUpSpan& span) {
    const auto phases = phases_.find(span.culprit);
    if (phases == phases_.end()) return;
    const auto phase = std::ranges::upper_bound(phases->second, span.from, {}, &sim::ActivitySpan::to);
    if (phase == phases->second.end() || (*phase)->from > span.from) return;
    const std::string id = fmt::format("{}.{}", first_process_, ++num_arrows_);
    const auto add = [&](const char* kind, int process, Track track) {
      Json event = {{"ph", kind},
                    {"pid", process},
                    {"tid", static_cast<int>(track)},
                    {"ts", TraceTime(span.from)},
                    {"id", id},
                    {"cat", "cause"},
                    {"name", "holds up"}};
      if (track == kHeldUp) event["bp"] = "e";
      events_->Add(event);
    };
    add("s", process_of_.at(span.culprit), kCommunication);
    add("f", process_of_.at(span.job), kHeldUp);
  }

  void AddLoad(const sim::LinkLoad& load) {
    events_->Add({{"ph", "C"},
                  {"pid", links_process()},
                  {"ts", TraceTime(load.at)},
                  {"name", recording_.links.at(load.link).name},
                  {"args", {{"Gb/s", load.bytes_per_s * 8e-9}}}});
  }

  void AddControl(const sim::ControlChange& change) {
    const SimTime at = SimTime::FromSeconds(Seconds(change.time_s));
    if (at < recording_.window.from || at > recording_.window.to) return;
    events_->Add({{"ph", "i"},
                  {"pid", cluster_process()},
                  {"tid", 0},
                  {"ts", TraceTime(at)},
                  {"s", "p"},
                  {"name", "re-plan"},
                  {"args",
                   {{"jobs_started", change.jobs_started},
                    {"jobs_ended", change.jobs_ended},
                    {"links_changed", change.links_changed},
                    {"path_changes", change.path_changes},
                    {"level_changes", change.level_changes}}}});
  }

  const sim::RunResult& run_;
  const sim::RunRecording& recording_;
  int first_process_;
  TraceEvents* events_;
  std::map<JobId, std::string> names_;
  std::map<JobId, int> process_of_;
  std::map<JobId, std::vector<const sim::ActivitySpan*>> phases_;  // by time
  uint64_t num_arrows_ = 0;
};

}  // namespace

std::string RenderTimeline(const sim::SimulationReport& report) {
  TraceEvents events;
  int first_process = 1;
  for (const sim::RunResult& run : report.runs) {
    if (!run.recording) continue;
    RunEvents run_events(run, first_process, &events);
    run_events.AddAll();
    first_process += run_events.num_processes();
  }
  return events.Render({{"scenario", report.scenario}, {"fairlead", report.version}});
}

std::vector<std::string> DescribeLeftOut(const sim::SimulationReport& report) {
  std::vector<std::string> sentences;
  for (const sim::RunResult& run : report.runs) {
    if (!run.recording || run.recording->num_dropped == 0) continue;
    sentences.push_back(fmt::format("the timeline leaves out {} beyond {} of run {}; choose a shorter window",
                                    FormatCount(run.recording->num_dropped, "event"),
                                    FormatCount(run.recording->window.max_events), run.policy));
  }
  return sentences;
}

}  // namespace fairlead::report
