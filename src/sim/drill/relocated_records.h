// The telemetry of a simulated run, as if the run had started later and on other hosts.
//
// A simulated job starts at 0 on hosts 0, 1, ..; a restarted one does not. Only names and instants differ.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::sim {

struct RunPlace {
  SimDuration begin;           // of the run
  std::vector<HostId> hosts;   // [host of the simulated job]
  uint32_t gpus_per_host = 1;  // one NIC each; a NIC's id follows from its host
};

// Args: records of a job of execution::JobExecution on as many hosts as the place has.
model::TelemetryRecord Relocate(model::TelemetryRecord record, const RunPlace& place);

}  // namespace fairlead::sim
