// Who looks after the hosts of a simulated cluster: GPUs break and are repaired, jobs on them hang, die or are slow,
// C4D finds out, steering isolates, people do what is left.
//
//     faults --> HealthOf(placement): what the simulation makes of a job
//        |
//        +--> WatchRun: the job's C4D master --> findings --> Steering --> isolate, test, return --+
//        +--> time-out or launcher: JobFailed --> people search --> isolate -----------------------+
//                                                                                                  |
//     HostStateChanged (host_allocation.h) for the controller <------------------------------------+
//
// The master, steering and what its conditions mean for allocation are the product's; hosts, people and the time that
// actions take are simulated.
//
// Parts       BrokenGpus: the planted faults and what became of them; Operators: people; Hosts: steering's hands.
// Size        its members are those parts, runs of jobs, and where each host stands for the controller.
// Guarantees  same options, same calls, same events. Diagnosis and steering never see the planted faults.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/cluster_controller.h"
#include "controller/steering.h"
#include "controller/steering_dispatcher.h"
#include "model/job.h"
#include "sim/health/broken_gpus.h"
#include "sim/health/host_fault.h"
#include "sim/health/operators.h"
#include "sim/health/watched_run.h"
#include "sim/run_result.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// A job that has got GPUs.
struct CaredJob {
  JobId id;
  model::Placement placement;
  SimTime first_start;     // of its first iteration there, on sound GPUs
  Seconds iteration_time;  // alone there
  Seconds compute_time;
};

class HostCare {
 public:
  // `fabric` must outlive it. Args: faults, events: in any order; seed: of the rank-by-rank simulations.
  HostCare(const topology::Fabric& fabric, std::vector<HostFault> faults, std::vector<HostEvent> events,
           const HealthOptions& options, uint64_t seed);
  ~HostCare();
  HostCare(const HostCare&) = delete;
  HostCare& operator=(const HostCare&) = delete;

  bool exists() const { return !broken_.empty() || people_.has_plans(); }
  // When something happens next, perhaps in the past: now; Never(): nothing does.
  SimTime Next() const;
  // Goes on to `now`, which does not run backwards. Returns jobs whose health has changed, by id: for each, HealthOf()
  // its placement is to be heeded and NoteHealth() called.
  std::vector<JobId> Advance(SimTime now);
  // What the controller is to be told, as of Advance().
  std::vector<controller::Event> TakeEvents();

  JobHealth HealthOf(const model::Placement& placement) const { return broken_.HealthOf(placement); }

  // The job has got GPUs. Where some are broken, it is among the next jobs of Advance().
  void Begin(SimTime now, const CaredJob& job);
  // The health of a running job has changed. Args: repeated_gpu_s: the work that it will have to do again.
  void NoteHealth(SimTime now, JobId job, double repeated_gpu_s);
  // It has given its GPUs back.
  void End(SimTime now, JobId job, bool is_finished);

  HealthResult Result(SimTime end);

 private:
  class Hosts;  // carries steering's actions out
  struct Run {
    CaredJob job;
    uint64_t number = 0;
    std::vector<HostId> hosts = {};  // [rank]
    JobHealth health = {};
    SimTime health_since = {};
    SimTime fails_at = SimTime::Never();
    std::vector<TimedFinding> findings = {};  // to come, by time
    size_t next_finding = 0;
  };

  // Its health has changed: who will notice?
  void Judge(SimTime now, Run& run);
  void BookHealth(SimTime now, Run& run);
  void EndRepairs(SimTime now);
  void ReportFindings(SimTime now, std::vector<controller::SteeringEvent>* reported);
  void FailJobs(SimTime now);
  void LetPeopleAct(SimTime now);
  void Steer(SimTime now, const std::vector<controller::SteeringEvent>& events);
  void Publish(SimTime now);
  void MarkJobsOn(HostId host);

  const topology::Fabric& fabric_;
  const HealthOptions options_;
  const uint64_t seed_;
  BrokenGpus broken_;
  Operators people_;
  std::map<JobId, Run> runs_;
  uint64_t num_runs_ = 0;
  std::map<JobId, size_t> hit_jobs_;  // jobs that a fault keeps from training, until they train again; [job] fault
  std::set<JobId> changed_;
  std::vector<controller::Event> news_;

  IdVector<HostId, controller::HostState> published_;
  IdVector<HostId, SimTime> away_since_;  // Never(): it is not isolated
  std::map<HostId, SimTime> repaired_at_;
  HealthResult totals_;

  controller::Steering steering_;
  std::unique_ptr<Hosts> hosts_;
  controller::SteeringDispatcher dispatcher_;
  SimTime next_look_ = SimTime::Never();  // at findings that are held up
};

}  // namespace fairlead::sim
