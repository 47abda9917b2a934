#include "agent/process_reporter.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/job_identity.h"
#include "model/job_name.h"

namespace fairlead::agent {

namespace {

using controller::ProcessesSeen;
using telemetry::SeenProcess;

constexpr size_t kNotedMax = 1000;

SeenProcess WithoutRecords(SeenProcess process) {
  process.report.operations.clear();
  process.report.operations_since.reset();
  process.report.progress.clear();
  process.report.connections.clear();
  process.report.threads.clear();
  process.report.busy_connections = 0;
  return process;
}

}  // namespace

std::vector<ProcessesSeen> ProcessReporter::Report(const SegmentsSeen& look, bool is_heard) {
  Keep(look.symptoms);
  std::map<std::string, ProcessesSeen> messages;
  std::map<std::string, size_t> num_records;
  const auto add = [&](const SeenProcess& process) {
    const std::string& job = process.report.job;
    ProcessesSeen& message =
        messages.try_emplace(job, ProcessesSeen{job, num_looks_, look.at, {}, symptoms_}).first->second;
    Add(process, &message, &num_records[job]);
  };
  for (auto& [key, ended] : ended_) {
    add(ended.process);
    ended.num_reported += is_heard ? 1 : 0;
  }
  std::erase_if(ended_, [](const auto& entry) { return entry.second.num_reported >= kTellEnded; });
  for (const SeenProcess& process : look.processes) {
    if (!IsFit(process)) continue;
    add(process);
    if (process.state == model::ProcessState::kGone) Remember(process);
  }
  ++num_looks_;
  if (is_heard) symptoms_.clear();
  std::vector<ProcessesSeen> list;
  list.reserve(messages.size());
  for (auto& [job, message] : messages) list.push_back(std::move(message));
  return list;
}

// Each once, and the first ones: what follows them is often their consequence.
void ProcessReporter::Keep(const std::vector<model::HostSymptomRecord>& symptoms) {
  for (model::HostSymptomRecord symptom : symptoms) {
    symptom.text.resize(std::min(symptom.text.size(), controller::kSymptomBytesMax));
    if (symptoms_.size() < controller::kSymptomsMax && std::ranges::count(symptoms_, symptom) == 0) {
      symptoms_.push_back(std::move(symptom));
    }
  }
}

bool ProcessReporter::IsFit(const SeenProcess& process) {
  const telemetry::ProcessReport& report = process.report;
  const auto job = model::ParseJobKey(report.job);
  const Status name =
      model::CheckJobName(job.has_value() ? job->name : report.job, "FAIRLEAD_JOB", shm::kProcessJobNameBytesMax);
  if (!name.ok()) {
    NoteOnce(fmt::format("process {} is not diagnosed: {}", report.pid, name.message()));
    return false;
  }
  const std::string fault = telemetry::FindFault(report);
  if (fault.empty()) return true;
  NoteOnce(fmt::format("process {} is not diagnosed: {}", report.pid, fault));
  return false;
}

void ProcessReporter::Remember(const SeenProcess& process) {
  const telemetry::ProcessReport& report = process.report;
  if (ended_.size() >= kEndedMax) return;
  ended_.try_emplace(Key(report.job, report.pid, report.process_start), Ended{WithoutRecords(process)});
}

void ProcessReporter::Add(const SeenProcess& process, ProcessesSeen* message, size_t* num_records) {
  const bool has_room = message->processes.size() < controller::kProcessesMax &&
                        *num_records + process.report.communicators.size() <= telemetry::kProcessRecordsMax;
  if (!has_room) {
    NoteOnce(fmt::format("job {} has more processes on this host than one message can carry: some are not diagnosed",
                         message->job));
    return;
  }
  const bool is_whole = *num_records + telemetry::NumRecords(process.report) <= telemetry::kProcessRecordsMax;
  if (!is_whole) {
    NoteOnce(
        fmt::format("job {} sends more telemetry on this host than one message can carry: some of its ranks are judged "
                    "from outside only",
                    message->job));
  }
  message->processes.push_back(is_whole ? process : WithoutRecords(process));
  *num_records += telemetry::NumRecords(message->processes.back().report);
}

void ProcessReporter::NoteOnce(std::string text) {
  if (noted_.size() < kNotedMax && noted_.insert(text).second) notes_.push_back(std::move(text));
}

}  // namespace fairlead::agent
