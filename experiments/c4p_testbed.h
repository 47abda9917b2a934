// The testbed of the C4 paper, as its experiments simulate it: 16 hosts of 8 GPUs and 8 bonded NICs of 2 x 200 Gb/s in
// two segments, four leaves in each (two groups of four rails, left and right), eight spines above all of them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "experiment/experiment.h"
#include "sim/run_result.h"
#include "sim/scenario.h"

namespace fairlead::experiments {

struct C4pTestbed {
  // Of each of the eight uplinks of a leaf with 32 ports of 200 Gb/s: 800 is 1:1, 400 is 2:1.
  double uplink_gbps = 800;
  // Queue pairs of a connection; the paper does not say how many.
  uint32_t queue_pairs = 8;
  uint32_t num_jobs = 8;  // job j runs on host j of both segments, so that all it sends crosses the spines
  double simulated_s = 10;
  uint32_t num_seeds = 10;
  std::vector<std::string> policies = {"ecmp", "c4p"};
};

// What a NIC sends at most, both ports: 400 Gb/s less what the paper's single job does not reach ("about 360").
inline constexpr double kCeilingGbps = 360;

// Jobs that do nothing but all-reduce 8 GB per GPU, again and again: 1 GB per NIC and direction each time.
Result<sim::Scenario> MakeC4pScenario(const C4pTestbed& testbed);

// Both directions of the link's cable go down.
void LoseCable(LinkId link, SimTime at, sim::Scenario* scenario);

// The first four rails of the first segment lose the uplink to spine 0, left and right, both directions.
inline constexpr std::array<std::string_view, 2> kFailedLeaves = {"leaf0", "leaf1"};
void LoseUplinks(SimTime at, sim::Scenario* scenario);

// Gb/s that each NIC of the job sends, mean over the whole run (the paper's bus bandwidth).
double BusBandwidth(const sim::JobResult& job);

// Bus bandwidths of all jobs under one policy: means over seeds.
struct Bandwidths {
  double worst = 0;
  double best = 0;
  double mean = 0;
};
Bandwidths MeasureBandwidths(const sim::SimulationReport& report, std::string_view policy);

}  // namespace fairlead::experiments
