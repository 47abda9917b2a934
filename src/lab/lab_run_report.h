// A run of jobs in a lab as text and JSON, beside the simulator where it ran the same scenario.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lab/lab_run.h"
#include "lab/lab_state.h"
#include "report/document.h"
#include "report/json_value.h"
#include "sim/run_result.h"

namespace fairlead::lab {

// One job in the simulator: over hash seeds.
struct SimulatedJob {
  std::string name;
  double mean_s = 0;  // of an iteration, over seeds
  double low_s = 0;   // of the seed with the shortest iterations
  double high_s = 0;
};

// Jobs of the runs of one policy, by their order in the scenario.
std::vector<SimulatedJob> SummarizeSimulation(const sim::SimulationReport& report, const std::string& policy);

// How evenly the uplinks of the switches of one tier were used. Over switches that sent anything upwards.
struct UplinkBalance {
  double mean_imbalance = 0;  // of bytes of the busiest uplink over the mean of its switch; 1 = even
  double worst_imbalance = 0;
  double busiest_share = 0;  // of its speed that the busiest uplink of all carried
};

UplinkBalance BalanceOf(const LabState& state, const LabRunResult& result);

// Sum over jobs of what they send, and how far the fastest is from the slowest, in units of the mean.
struct Throughput {
  double total_bytes_per_s = 0;
  double spread = 0;
};

Throughput ThroughputOf(const LabRunResult& result);

// Args: simulated: [job]; empty: was not simulated.
report::Document RenderRun(const LabState& state, const LabRunResult& result,
                           const std::vector<SimulatedJob>& simulated);
//   {"lab", "measured_s", "scale", "total_gbps", "spread", "uplinks": {"mean_imbalance", "worst_imbalance",
//    "busiest_share"}, "jobs": [{"name", "workers", "connections", "iterations", "iteration_s", "iteration_low_s",
//    "iteration_high_s", "exposed_s", "gbps", "simulated_s", "simulated_low_s", "simulated_high_s"}],
//    "links": [{"name", "sent_bytes": [2], "utilization": [2]}], "retransmitted_segments"}
// gbps: at the speed of the fabric, that is, divided by the scale.
report::Json RunJson(const LabState& state, const LabRunResult& result, const std::vector<SimulatedJob>& simulated);

}  // namespace fairlead::lab
