// Diagnosis and steering in the process of a simulated controller: the real cores (controller/job_watch.h,
// controller/kept_steering.h), and around them what the daemon does with looks, store and actions, on virtual time.
//
//     looks of agents --> JobWatch --+--> judge: what is found about a host, for its agent
//                                    +--> KeptSteering --> 1. keep  2. begin actions, excuse jobs
//
// Like the daemon (service/controller/diagnosis_loop.h, service/steering/live_steering.h) it keeps a batch's records
// before anything of the batch is begun, and takes nothing new up while the store is full.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "controller/job_watch.h"
#include "controller/kept_steering.h"
#include "diagnosis/job_diagnosis.h"
#include "sim/hosts/sabotage.h"
#include "topology/fabric.h"

namespace fairlead::sim::hosts {

struct VirtualDiagnosisOptions {
  diagnosis::JobDiagnosisFactory make_diagnosis;
  controller::JobWatchOptions watch;
  controller::KeptSteeringOptions steering;
};

class VirtualDiagnosis {
 public:
  using Records = controller::KeptSteering::Records;

  struct Surroundings {
    const topology::Fabric* fabric = nullptr;
    Sabotage sabotage = Sabotage::kNone;
    // Replaces the records of steering in the store; false: not now, or the process is about to die.
    std::function<bool(const Records&)> keep;
    std::function<void(const controller::SteeringAction&, const controller::SteeringNames&)> begin;
    std::function<std::vector<controller::SteeringEvent>(SimTime)> take_outcomes;
    // The records have the outcomes that were taken before.
    std::function<void()> outcomes_kept;
    std::function<void(HostId, const controller::HostJudged&)> judge;
    std::function<void(const controller::SlowEndQuestion&)> ask;
    std::function<void(const controller::AuditEntry&)> note;
  };

  // Args: now: of the process's clock, which does not run backwards, here and below; records: of the store.
  VirtualDiagnosis(SimTime now, const VirtualDiagnosisOptions& options, const Records& records,
                   Surroundings surroundings);

  void Take(controller::WatchInput input) { inbox_.push_back(std::move(input)); }
  // To be called a few times a second.
  void Tick(SimTime now);

  const controller::JobWatch& watch() const { return watch_; }
  const controller::KeptSteering& steering() const { return steering_; }

 private:
  struct Batch {
    bool is_made = false;
    bool is_kept = false;
    std::vector<controller::AuditEntry> entries;
    std::vector<controller::SteeringAction> begun;
  };

  void MakeBatch(SimTime now);
  // False: it is stuck.
  bool CarryOut(SimTime now);

  Surroundings surroundings_;
  controller::JobWatch watch_;
  controller::KeptSteering steering_;
  std::vector<controller::WatchInput> inbox_;
  Records kept_;  // as the store has it
  Batch batch_;
};

}  // namespace fairlead::sim::hosts
