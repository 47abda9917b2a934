// The faults of a drill, which outlive runs of its job: what is broken stays with its host until that is repaired, what
// was an accident (a crash) is over with the run that it ended.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "execution/fault.h"
#include "execution/job_execution.h"
#include "execution/job_shape.h"
#include "sim/drill/relocated_records.h"

namespace fairlead::sim {

// Whether the fault stays with its host, cable or switch until it is repaired.
bool StaysBroken(execution::FaultKind kind);

class PlantedFaults {
 public:
  // Args: faults valid for the shape, their ids those of the first placement.
  PlantedFaults(const execution::JobShape& shape, std::vector<execution::Fault> faults);

  const std::vector<execution::Fault>& all() const { return faults_; }
  // The host that it is on; of connections that of the sender; invalid: of no host.
  HostId HostOf(size_t fault) const;
  // No fault that lasts acts on the host.
  bool IsHealthy(SimTime now, HostId host) const;
  // It was repaired: it does not act in later runs.
  void Repair(size_t fault) { is_repaired_[fault] = true; }
  bool IsRepaired(size_t fault) const { return is_repaired_[fault]; }
  // When the fault first changed the course of the job; nothing: not yet.
  std::optional<SimTime> FirstActed(size_t fault) const { return first_acted_[fault]; }

  // A run begins here: the faults as it meets them.
  std::vector<execution::Fault> BeginRun(const RunPlace& place);
  // Of the run that has begun. Args: place: its.
  void NoteActed(const execution::JobExecution& run, const RunPlace& place, SimTime now);

 private:
  // False: the fault is of a host that is not of the run.
  bool Move(model::RankId* rank, const RunPlace& place) const;

  execution::JobShape shape_;
  std::vector<execution::Fault> faults_;
  std::vector<bool> is_repaired_;                    // [fault]
  std::vector<std::optional<SimTime>> first_acted_;  // [fault]
  std::vector<size_t> of_run_;                       // [fault of the run]
};

}  // namespace fairlead::sim
