// Planted GPU faults of a simulated cluster: which are in force, what they make of a job, and what became of each.
//
// Cost        O(faults) each call.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/job_allocator.h"
#include "model/job.h"
#include "sim/health/host_fault.h"
#include "sim/health/watched_run.h"
#include "sim/run_result.h"
#include "topology/fabric.h"

namespace fairlead::sim {

// What broken GPUs make of a job.
struct JobHealth {
  bool is_stuck = false;  // no iteration ends any more
  double slowdown = 1;    // of its computing

  friend bool operator==(const JobHealth&, const JobHealth&) = default;
};

class BrokenGpus {
 public:
  // `fabric` must outlive it. Args: faults: in any order.
  BrokenGpus(const topology::Fabric& fabric, std::vector<HostFault> faults);

  bool empty() const { return faults_.empty(); }
  SimTime NextBegin() const;  // Never(): all have begun
  // Breaks what is due. Returns the hosts that it happens to.
  std::vector<HostId> Begin(SimTime now);
  // What has broken there is in order.
  void Repair(HostId host);

  bool IsOn(HostId host) const;  // a broken one
  JobHealth HealthOf(const model::Placement& placement) const;
  // Faults that matter to a job, by rank.
  std::vector<WatchedFault> FaultsOf(const model::Placement& placement) const;

  // Hosts of a job have broken GPUs at `at`. Args: had_one: a fault keeps it from training already, and no other one is
  // counted for it. Returns the number of the first fault.
  std::optional<size_t> NoteHit(const std::vector<HostId>& hosts, SimTime at, bool had_one);
  void NoteFound(HostId host, SimTime now);
  void NoteState(HostId host, controller::HostState before, controller::HostState state, SimTime now);
  // The first job that the fault has stopped trains again.
  void NoteResumed(size_t fault, SimTime at);
  const std::vector<FaultResult>& results() const { return results_; }

 private:
  enum class Phase : uint8_t { kToCome, kBroken, kRepaired };

  bool IsBroken(size_t fault) const { return phases_[fault] == Phase::kBroken; }
  GpuId GpuOf(const HostFault& fault) const { return fabric_.gpu(fault.host, fault.gpu); }

  const topology::Fabric& fabric_;
  std::vector<HostFault> faults_;     // by time
  std::vector<Phase> phases_;         // [fault]
  std::vector<FaultResult> results_;  // [fault]
};

}  // namespace fairlead::sim
