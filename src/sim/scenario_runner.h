// Runs a scenario: every policy under every draw (scenario_draws.h), on as many threads as the machine has, with the
// same results at any number of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/live_traffic.h"
#include "sim/placement_record.h"
#include "sim/run_recording.h"
#include "sim/run_result.h"
#include "sim/scenario.h"

namespace fairlead::sim {

struct ScenarioRunOptions {
  // The window of each policy's first draw that is recorded (RunResult::recording); nothing: none.
  std::optional<RecordingWindow> recorded = std::nullopt;
  uint32_t num_threads = 0;  // 0 = one per processor
  // The job with recorded allocation decisions (RunResult::decisions); nothing: none.
  std::optional<JobId> explained_job = std::nullopt;
  // Jobs that are left out, as if they had never been submitted. Ids of the others stay.
  std::vector<JobId> absent_jobs = {};
  // Where jobs are placed, one entry per planned run: policies in order, draws ascending.
  // `known_placements`, from an earlier call with the same policies and draws: each job is placed as it was, where
  // those GPUs are free. `placements` is filled. An allocation policy decides about hosts itself and obeys neither.
  const std::vector<PlacementRecord>* known_placements = nullptr;
  std::vector<PlacementRecord>* placements = nullptr;
  // Runs that a check of ours has ended are listed beside the results of the others; otherwise they are an error.
  bool keeps_others = false;
  // Makes what a scenario with simulated agents needs; may be empty for others.
  LiveTrafficFactory live_traffic = nullptr;
  // The command that repeats a run alone, for FailedRun; may be empty.
  std::function<std::string(const std::string& policy, const std::string& allocation, uint32_t draw)> reproduce =
      nullptr;
};

// Called from any thread, one call at a time: fraction of all runs that is done, 0..1.
using RunProgress = std::function<void(double)>;

// Errors: kInvalidArgument for an unknown policy, or a fabric on which agents can't be simulated; kInternal where a
// check of ours fails in a run. When `stop` turns true, runs end soon, marked partial; runs that have not begun are
// left out. Thread: safe, the scenario is only read.
Result<SimulationReport> RunScenario(const Scenario& scenario, const ScenarioRunOptions& options,
                                     const std::atomic<bool>& stop, const RunProgress& progress);

// "346 hosts, 2768 GPUs (A100), 173 leaves, 16 spines".
std::string SummarizeFabric(const topology::Fabric& fabric);

}  // namespace fairlead::sim
