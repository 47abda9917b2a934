// Random scenarios for property tests and fuzzers: every kind of fabric, job, policy, failure and option that a
// scenario file can name, small enough that a run takes milliseconds.
//
// Method      The scenario is written as the text of a file and read back, so that a failing one can be saved and run
//             with `fairlead sim run`. Lengths are drawn relative to the simulated time: from jobs that never end an
//             iteration to jobs that end thousands. Round numbers and generic ones mix: the first make ties.
// Guarantees  same numbers drawn, same text; the text is a valid scenario of one seed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.h"
#include "sim/scenario.h"

namespace fairlead::sim {

// Which kinds may be drawn; all by default. Turning one off changes what else is drawn.
struct RandomScenarioOptions {
  bool allocation = true;                  // sizes are decided by an allocation policy, in a quarter of the scenarios
  bool link_events = true;                 // links fail, degrade, come back, flap
  bool congestion = true;                  // dcqcn
  bool profiling = true;                   // profile_jobs
  bool speed_reports = true;               // speed_report_s
  bool queue_pairs = true;                 // qps_per_connection above 1
  bool edge_detail = true;                 // detail: edge
  bool extrapolation = true;               // extrapolate: true
  bool model_profiles = true;              // jobs with several phases, made from a model and its parallelism
  bool endless_jobs = true;                // jobs without a number of iterations
  bool late_arrivals = true;               // jobs that come after the start
  bool detection = true;                   // spray: presets, failures that are noticed late, reordering
  bool background = true;                  // kv_transfers and checkpoints
  uint32_t max_jobs = 8;                   // >= 1
  double max_simulated_s = 300;            // >= 1
  std::vector<std::string> policies = {};  // one is drawn; empty: of all but "fixed"
};

// A number in [0, n), n >= 1: from a generator, or from the bytes of a fuzzer.
using Draw = std::function<uint64_t(uint64_t n)>;

// The text of a scenario file.
std::string RandomScenarioText(const Draw& draw, const RandomScenarioOptions& options = {});

// The same, read. Fabrics have at most a few hundred links.
Scenario RandomScenario(const Draw& draw, const RandomScenarioOptions& options = {});
Scenario RandomScenario(Random& random, const RandomScenarioOptions& options = {});

}  // namespace fairlead::sim
