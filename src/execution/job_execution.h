// A training job, simulated rank by rank in virtual time with planted faults, as the diagnosis would see it: the
// telemetry of its ranks and hosts in order of arrival.
//
//     fault_effects --> training_program --> transfer_simulator --> connection_account --+
//                              |                                                      +--> report_writer
//                              +-----------> operation_log ---------------------------+          |
//                                                                                          report_channel -->
// Telemetry follows from the simulated messages alone; no part that writes it knows the planted faults, except what
// agents see from outside: processes that are gone or stopped, and symptoms of devices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "execution/fault.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "execution/report_channel.h"
#include "model/telemetry.h"

namespace fairlead::execution {

class JobExecution {
 public:
  // `shape`, `faults` and `noise` must be valid. Equal arguments give equal records.
  JobExecution(const JobShape& shape, std::vector<Fault> faults, const NoiseOptions& noise, uint64_t seed);
  ~JobExecution();
  JobExecution(JobExecution&&) noexcept;
  JobExecution& operator=(JobExecution&&) noexcept;

  const model::JobLayout& layout() const;

  // Continues the simulation, and hands over the records that arrive up to `until`, the layout first. Later calls
  // continue where the one before ended; cutting a run into calls does not change it. Cost: O(messages) time;
  // O(connections) space, and what ranks report in a few seconds.
  void Run(SimTime until, const EmitRecord& emit);

  // [iteration] when its last rank ended it, on the true clock; those simulated so far, perhaps later than `until`.
  // Never(): a rank hangs.
  std::vector<SimTime> IterationEnds() const;
  // When the fault first changed the course of the job; nothing: it has not, as far as simulated.
  std::optional<SimTime> FirstActed(size_t fault) const;
  // How far the clock of a host is ahead of the true one at the true time `t`.
  SimDuration ClockErrorOf(HostId host, SimTime t) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace fairlead::execution
