// A stretch of a trace as a scenario for the simulator: the jobs that exist in it, with stand-ins for their models.
//
// A trace has no model architectures, only labels; the profile says which model profile represents which label, and a
// list from which the simulator draws for the others. All assumptions are written into the scenario.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "trace/trace.h"
#include "trace/trace_profile.h"

namespace fairlead::trace {

struct ScenarioExportOptions {
  // The stretch, s from the start of the trace; jobs that are there at its beginning arrive at once, with the time they
  // have left.
  double from_s = 0;
  double to_s = kSecondsPerDay;
  // Written into the scenario as it is, so relative to the scenario's folder.
  std::string fabric_file = "../fabrics/lingjun-clos.yaml";
  // Where the jobs will be written, likewise relative.
  std::string trace_file = "trace.csv";
  std::vector<std::string> policies = {"ecmp", "crux"};
  std::string placement = "locality-first";
  uint32_t num_seeds = 1;
};

struct ScenarioExport {
  std::string yaml;
  std::vector<TraceJob>
      jobs;  // with GPUs, times from the begin of the stretch: what the scenario's trace file must hold
  size_t num_jobs_without_gpus = 0;  // in the stretch, left out
};

// Args: profile -> with the stand-in models of each label. Errors: kInvalidArgument for a stretch that is empty or has
// no GPU job, and a profile without stand-ins.
Result<ScenarioExport> ExportScenario(const Trace& trace, const TraceProfile& profile,
                                      const ScenarioExportOptions& options);

}  // namespace fairlead::trace
