// The same jobs in the same lab twice, left to the fabric's hashes and steered, and in the simulator under both.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/lab_run_report.h"
#include "lab/lab_session.h"
#include "report/document.h"
#include "report/json_value.h"
#include "sim/scenario.h"

namespace fairlead::lab {

struct LabComparisonOptions {
  LabSessionOptions session;  // its hash seed is that of the first lab
  uint32_t num_seeds = 1;     // labs, one after the other, with different hashes in their switches; >= 1
  double seconds = 20;        // measured of each run
  double warm_up_s = 3;
  std::string policy = "crux+c4p";  // of the simulator beside the steered runs
};

struct HashedAndSteered {
  uint64_t hash_seed = 0;
  LabRunResult hashed;
  LabRunResult steered;
};

// The same jobs in the simulator under one policy.
struct SimulatedRuns {
  std::vector<SimulatedJob> jobs;                // [job]
  std::vector<std::vector<double>> iteration_s;  // [seed][job] mean; 0: it ended none
};

// Errors: those of sim::RunScenario.
Result<SimulatedRuns> SimulateUnder(sim::Scenario scenario, const std::string& policy, const std::atomic<bool>& stop);

struct LabComparison {
  std::string title;  // of the scenario
  double scale = 1;
  std::vector<HashedAndSteered> runs;  // [seed]
  SimulatedRuns simulated_hashed;
  SimulatedRuns simulated_steered;
};

// Called before each part with its description.
using ComparisonProgress = std::function<void(const std::string&)>;

// Args: file: of the scenario. Errors: those of LabSession and RunJobs; nothing of a lab is left.
Result<LabComparison> CompareInLab(const std::string& file, const sim::Scenario& scenario,
                                   const LabComparisonOptions& options, const ComparisonProgress& progress,
                                   const std::atomic<bool>& stop);

// Total throughput of steered over hashed runs: mean over seeds of each, and the simulator's.
struct ThroughputGain {
  double hashed_gbps = 0;  // at the speed of the fabric
  double steered_gbps = 0;
  double steered_spread = 0;  // greatest over seeds: fastest minus slowest job, in units of the mean
  double gain = 0;            // steered / hashed
  double simulated_gain = 0;
};
ThroughputGain GainOf(const LabComparison& comparison);

report::Document RenderComparison(const LabComparison& comparison);
//   {"scenario", "scale", "gain", "simulated_gain", "hashed_gbps", "steered_gbps", "steered_spread",
//    "jobs": [{"name", "hashed_s", "steered_s", "simulated_hashed_s", "simulated_steered_s"}],
//    "seeds": [{"hash_seed", "hashed_gbps", "steered_gbps", "steered_spread"}]}
report::Json ComparisonJson(const LabComparison& comparison);

}  // namespace fairlead::lab
