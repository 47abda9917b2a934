// A drill: a training job with planted faults, with the diagnosis and steering that watch it, or with people who wait
// for the time-out and search by hand; events over time.
//
//     SimulatedCluster --- telemetry ---> C4D master --- findings ---> SteeringDispatcher --- actions ---+
//            ^-------------------------------------------------------------------------------------+
//     once a second of the job's time; without C4D the two in the middle are people:
//     no iteration ends for `timeout` --> the processes give up --> `search` --> isolate what is broken, restart
//
// Method      both runs have the same job, faults, noise, spares and times of actions. People always find what is at
//             fault; what they can't blame on a host they mend in its place, and restart on the same hosts. With C4D
//             they are there, too: after the time-out they need `reaction` instead of `search` where there is a
//             finding. Without C4D a slow job is not noticed.
// Guarantees  same options, same result. The diagnosis never sees the planted faults.
// Reference   docs/spec/c4.md section 8: 30 minutes until NCCL's watchdog ends a job that hangs; 2.1 h to find the
//             host, by hand.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "controller/steering.h"
#include "controller/steering_dispatcher.h"
#include "diagnosis/c4d/c4d_options.h"
#include "model/finding.h"
#include "sim/drill/simulated_cluster.h"

namespace fairlead::sim {

// Maintenance that is announced when it begins.
struct PlannedPause {
  SimTime begin;
  SimTime end;
};

struct DrillOptions {
  ClusterOptions cluster;
  std::vector<execution::Fault> faults;
  std::vector<PlannedPause> pauses;
  diagnosis::c4d::C4dOptions diagnosis;
  controller::SteeringOptions steering;  // mode kAct, or nothing is done
  SimTime end;                           // > 0
  SimDuration timeout = SimDuration(1'800'000'000'000);
  SimDuration search = SimDuration(7'560'000'000'000);
  SimDuration reaction = SimDuration(600'000'000'000);

  // Errors: kInvalidArgument, naming what is wrong.
  Status Validate() const;
};

enum class DrillEventKind : uint8_t {
  kFault,      // acts for the first time
  kSuspicion,  // of a finding that was confirmed: when it was first held
  kFinding,    // confirmed, or cleared
  kAction,     // reported
  kOutcome,    // what became of an action
  kAdvice,     // nothing is done
  kRestarted,
  kPeople,  // what they do
  kPause,
};
std::string_view Name(DrillEventKind kind);

struct DrillEvent {
  SimTime at;
  DrillEventKind kind = DrillEventKind::kFault;
  std::string text;
  HostId host;  // that it is about; invalid: none
};

// What became of one fault. Never(): it did not happen before the end.
struct FaultStory {
  size_t fault = 0;
  HostId host;                         // that it is on; invalid: of no host
  SimTime acted = SimTime::Never();    // the course of the job changed
  SimTime symptom = SimTime::Never();  // an iteration that was due did not end, or took a tenth more than usual
  SimTime suspected = SimTime::Never();
  SimTime confirmed = SimTime::Never();
  SimTime action = SimTime::Never();  // the first one
  SimTime restarted = SimTime::Never();
  std::string finding;      // its syndrome; empty: none
  bool names_host = false;  // the finding names the host of the fault
  uint64_t num_lost = 0;    // iterations since the checkpoint
};

struct DrillRun {
  std::vector<DrillEvent> events;   // in order of time
  std::vector<FaultStory> stories;  // [fault]
  std::vector<JobStretch> stretches;
  uint64_t num_iterations = 0;  // trained and not lost, at the end
  uint64_t num_lost = 0;
  double lost_s = 0;          // stalled, restarting or repeating
  std::vector<HostId> hosts;  // of the job at the end
  controller::JobCondition condition = controller::JobCondition::kRunning;
  std::vector<controller::AuditEntry> audit;
};

// Thread: one run a call. `stop` ends it early, with what has happened until then; `progress` gets fractions.
DrillRun RunDrill(const DrillOptions& options, bool with_diagnosis, const std::atomic<bool>& stop,
                  const std::function<void(double)>& progress);

}  // namespace fairlead::sim
