// One random case of the micro-benchmark: a small two-layer fabric with five jobs on it.
//
// Given by the paper (section 4.4): at most 20 hosts of 8 GPUs, two layers, 2 to 4 ToRs, 2 aggregation switches, 5
// jobs, 3 levels. Everything else is ours:
//
//   hosts 12..20, spread evenly; host to ToR 4 x 200 Gb/s; ToR to aggregation 1:1 for odd seeds, 2:1 for even ones
//   GPUs of a job {4, 8, 16, 24, 32, 48}, capped by those still free, on random hosts
//   one ring over the job's hosts in the order of their numbers, on four channels, one per NIC
//   C 0.1..2 s (log-uniform); solo communication 0.2..1.2 C; s in {0.5, 0.75, 1}; W = GPUs x C x 100 TFLOP/s
//   each job begins at a random instant of its first solo iteration
//
// Cases in which no two jobs can contend are drawn again: there every decision is equally good.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "model/flow.h"
#include "model/path.h"
#include "topology/fabric.h"
#include "topology/router.h"

namespace fairlead::experiments::crux_near_optimality {

inline constexpr size_t kNumJobs = 5;
inline constexpr uint32_t kNumLevels = 3;
inline constexpr size_t kNumSpines = 2;

struct CaseJob {
  uint32_t num_gpus = 0;
  model::Iteration iteration;
  SimTime start;
  // The job's paths when all its flows take one aggregation switch, [switch][flow]. Equal where no flow has a choice.
  std::array<std::vector<model::Path>, kNumSpines> paths;

  bool has_choice() const { return paths[0] != paths[1]; }
};

// One aggregation switch per job.
using PathChoice = std::array<uint8_t, kNumJobs>;
// 0 = most important.
using Levels = std::array<uint8_t, kNumJobs>;

struct RandomCase {
  uint64_t seed = 0;
  topology::Fabric fabric;
  std::array<CaseJob, kNumJobs> jobs;
  uint32_t num_rejected = 0;  // draws before this one in which no two jobs could contend

  const std::vector<model::Path>& PathsOf(const PathChoice& choice, size_t job) const {
    return jobs[job].paths[choice[job]];
  }
};

// Same seed, same case. Args: oversubscription >= 1 of the uplinks, instead of 1 or 2 by the seed.
RandomCase DrawCase(uint64_t seed, std::optional<double> oversubscription = std::nullopt);

}  // namespace fairlead::experiments::crux_near_optimality
