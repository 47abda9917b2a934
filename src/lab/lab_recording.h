// What is recorded of jobs that run in a lab, beside the records of their workers: link counters, what happened to
// cables and processes, and what the controller saw. lab_timeline.h draws it.
//
// All times are seconds of the monotonic clock. What is sampled is known as well as its period: counters each quarter
// of a second, processes with each look (a tenth of a second), which job uses which links each second.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/cable_changes.h"
#include "lab/lab_state.h"
#include "lab/lab_workload.h"
#include "lab/trainer/iteration_state.h"
#include "lab/trainer_process.h"
#include "wire/cluster_records.h"

namespace fairlead::lab {

struct LinkSample {
  double at_s = 0;
  IdVector<CableId, std::array<uint64_t, 2>> sent_bytes;  // [cable][end], since the lab came up
};

struct WorkerRecording {
  std::string host;
  std::string records;            // lines of trainer.h, with phases
  std::vector<TimeSpan> stopped;  // its process was, by a signal, as far as looks tell
  bool is_stopped = false;        // since the last of them
  std::optional<double> failed_at_s = {};
  std::string failure = {};  // "exit code 3", "signal 9"
};

// What a job's connections pass, as the controller has placed them.
struct UsedCables {
  double at_s = 0;  // from then on, until the next one
  std::set<CableId> cables;
};

struct JobRecording {
  std::string name;
  std::vector<std::string> phases;  // names
  std::set<CableId> own_cables;     // of its hosts, that its connections pass whatever the fabric does
  std::vector<UsedCables> used;     // by time; empty: not known
  std::vector<WorkerRecording> workers;
};

struct LabRecording {
  double begin_s = 0;
  double end_s = 0;
  std::optional<TimeSpan> measured;  // unset: it did not come to that
  double unix_offset_s = 0;          // seconds since 1970 are those of the monotonic clock and this
  CableHealth health;                // [cable] at the begin
  std::vector<CableChange> changes;  // by time
  std::vector<LinkSample> samples;   // by time
  std::vector<JobRecording> jobs;
  std::vector<wire::LiveEvent> events;  // of the controller; times since 1970
  std::vector<wire::LiveFinding> findings;
};

class LabRecorder {
 public:
  // Args: state must outlive this; lab_folder: of the lab.
  LabRecorder(const LabState& state, std::string lab_folder);

  void Begin(const std::vector<LabJob>& jobs);
  // Call it often, about ten times a second. Args: processes: of the workers of all jobs, in their order. Cost: some
  // milliseconds where samples are due; a second, each ten seconds, while the controller does not answer.
  void Look(std::vector<TrainerProcess>& processes);
  void BeginMeasuring();
  void EndMeasuring();
  // Takes the records, when all processes have ended.
  void End(std::vector<TrainerProcess>& processes);

  const LabRecording& recording() const { return recording_; }

 private:
  void SampleLinks(double now_s);
  void LookAtProcesses(double now_s, std::vector<TrainerProcess>& processes);
  void AskWhoUsesWhat(double now_s);
  void AskWhatHappened();

  const LabState& state_;
  const std::string lab_folder_;
  const std::string page_;  // of the controller; empty: none
  LabRecording recording_;
  double sample_period_s_;
  double next_sample_s_ = 0;
  double next_question_s_ = 0;
};

// What a job uses of its own hosts: cables of the NICs of its connections that have one cable.
std::set<CableId> OwnCablesOf(const LabPlan& plan, const LabJob& job);

}  // namespace fairlead::lab
