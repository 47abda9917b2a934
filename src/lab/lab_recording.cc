#include "lab/lab_recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/file_reader.h"
#include "base/steady_seconds.h"
#include "lab/findings_page.h"
#include "lab/lab_counters.h"
#include "lab/lab_services.h"

namespace fairlead::lab {

namespace {

constexpr double kSamplePeriod = 0.25;
// Beyond so many every other one is dropped, and the period doubles: 48 links then take 3 MB.
constexpr size_t kNumSamplesMax = 4096;
constexpr double kQuestionPeriod = 1;
// After a question that was not answered.
constexpr double kQuestionPause = 10;
constexpr int kQuestionPatience = 1;

double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::set<CableId> OwnCablesOf(const LabPlan& plan, const LabJob& job) {
  std::map<std::string, const LabNic*> nic_of;
  for (const LabNic& nic : plan.nics) nic_of[FormatAddress(nic.address)] = &nic;
  std::set<CableId> cables;
  for (const LabWorker& worker : job.workers) {
    for (const ConnectionPlan& connection : worker.plan.connections) {
      for (const std::string& address : {connection.from, connection.to}) {
        const auto nic = nic_of.find(address);
        if (nic != nic_of.end() && nic->second->cables.size() == 1) cables.insert(nic->second->cables.front());
      }
    }
  }
  return cables;
}

LabRecorder::LabRecorder(const LabState& state, std::string lab_folder)
    : state_(state), lab_folder_(std::move(lab_folder)), page_(PageOf(lab_folder_)), sample_period_s_(kSamplePeriod) {}

void LabRecorder::Begin(const std::vector<LabJob>& jobs) {
  recording_.begin_s = SteadySeconds();
  recording_.unix_offset_s = UnixSeconds() - recording_.begin_s;
  recording_.health = state_.health;
  for (const LabJob& job : jobs) {
    JobRecording own{
        .name = job.name, .phases = {}, .own_cables = OwnCablesOf(state_.plan, job), .used = {}, .workers = {}};
    for (const LabWorker& worker : job.workers) {
      own.workers.push_back({.host = state_.plan.nodes[worker.host].name, .records = {}, .stopped = {}});
    }
    if (!job.workers.empty()) {
      for (const PhasePlan& phase : job.workers.front().plan.phases) own.phases.push_back(phase.name);
    }
    recording_.jobs.push_back(std::move(own));
  }
}

void LabRecorder::Look(std::vector<TrainerProcess>& processes) {
  const double now_s = SteadySeconds();
  LookAtProcesses(now_s, processes);
  if (now_s >= next_sample_s_) SampleLinks(now_s);
  if (!page_.empty() && now_s >= next_question_s_) AskWhoUsesWhat(now_s);
}

void LabRecorder::BeginMeasuring() {
  const double now_s = SteadySeconds();
  recording_.measured = TimeSpan{now_s, now_s};
}

void LabRecorder::EndMeasuring() { recording_.measured->to_s = SteadySeconds(); }

void LabRecorder::SampleLinks(double now_s) {
  next_sample_s_ = now_s + sample_period_s_;
  const auto counters = ReadCounters(state_);
  if (!counters.ok()) return;  // the lab has been taken down, which the run finds out itself
  LinkSample sample{.at_s = SteadySeconds(), .sent_bytes = {}};
  for (const auto& ends : counters->cables) sample.sent_bytes.push_back({ends[0].sent_bytes, ends[1].sent_bytes});
  recording_.samples.push_back(std::move(sample));
  if (recording_.samples.size() <= kNumSamplesMax) return;
  std::vector<LinkSample> kept;
  for (size_t i = 0; i < recording_.samples.size(); i += 2) kept.push_back(std::move(recording_.samples[i]));
  recording_.samples = std::move(kept);
  sample_period_s_ *= 2;
}

void LabRecorder::LookAtProcesses(double now_s, std::vector<TrainerProcess>& processes) {
  auto process = processes.begin();
  for (JobRecording& job : recording_.jobs) {
    for (WorkerRecording& worker : job.workers) {
      if (process == processes.end()) return;  // not all are started yet
      if (process->HasEnded() && process->exit_code() != 0 && !worker.failed_at_s) {
        worker.failed_at_s = now_s;
        const int code = process->exit_code();
        worker.failure = code > 128 ? fmt::format("signal {}", code - 128) : fmt::format("exit code {}", code);
      }
      const bool is_stopped = process->IsStopped();
      if (is_stopped && !worker.is_stopped) worker.stopped.push_back({now_s, now_s});
      if (worker.is_stopped) worker.stopped.back().to_s = now_s;
      worker.is_stopped = is_stopped;
      ++process;
    }
  }
}

void LabRecorder::AskWhoUsesWhat(double now_s) {
  const auto answer = GetConnections(page_, kQuestionPatience);
  next_question_s_ = SteadySeconds() + (answer.ok() ? kQuestionPeriod : kQuestionPause);
  if (!answer.ok()) return;
  std::map<std::string, std::set<CableId>> cables_of;
  for (const wire::LiveConnection& connection : *answer) {
    for (const std::string& link : connection.links) {
      if (const CableId cable = FindCable(state_.plan, link); cable.valid()) cables_of[connection.job].insert(cable);
    }
  }
  for (JobRecording& job : recording_.jobs) {
    const auto found = cables_of.find(job.name);
    if (found == cables_of.end()) continue;
    if (job.used.empty() || job.used.back().cables != found->second) job.used.push_back({now_s, found->second});
  }
}

void LabRecorder::AskWhatHappened() {
  if (page_.empty()) return;
  const auto is_inside = [&](double unix_s) {
    return unix_s >= recording_.begin_s + recording_.unix_offset_s &&
           unix_s <= recording_.end_s + recording_.unix_offset_s;
  };
  if (const auto events = GetEvents(page_, kQuestionPatience); events.ok()) {
    for (const wire::LiveEvent& event : *events) {
      if (event.time_s && is_inside(*event.time_s)) recording_.events.push_back(event);
    }
    std::ranges::stable_sort(recording_.events, {}, [](const wire::LiveEvent& event) { return *event.time_s; });
  }
  if (const auto findings = GetFindings(page_, kQuestionPatience); findings.ok()) {
    for (const wire::LiveFinding& finding : *findings) {
      if (finding.confirmed_at_s && is_inside(*finding.confirmed_at_s)) recording_.findings.push_back(finding);
    }
  }
}

void LabRecorder::End(std::vector<TrainerProcess>& processes) {
  if (recording_.jobs.empty()) return;  // it did not begin
  recording_.end_s = SteadySeconds();
  // A run that was stopped, or failed, has no end of the measured time.
  if (auto& measured = recording_.measured; measured && measured->to_s <= measured->from_s) {
    measured->to_s = recording_.end_s;
  }
  recording_.changes = ReadCableChanges(lab_folder_, recording_.begin_s, recording_.end_s);
  AskWhatHappened();
  auto process = processes.begin();
  for (JobRecording& job : recording_.jobs) {
    for (WorkerRecording& worker : job.workers) {
      if (process == processes.end()) continue;
      worker.records = process->Records();
      ++process;
    }
  }
}

}  // namespace fairlead::lab
