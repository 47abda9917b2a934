// A job as its tenant submits it, and where it was put.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"
#include "base/units.h"

namespace fairlead::model {

// How the ranks of a job divide the work. tensor * pipeline * data == number of GPUs.
struct Parallelism {
  uint32_t tensor = 1;    // TP, inside a host where it fits
  uint32_t pipeline = 1;  // PP
  uint32_t data = 1;      // DP
  uint32_t expert = 1;    // EP; divides data
  // ZeRO stage: 0 none, 1 optimizer states, 2 and gradients, 3 and parameters.
  uint32_t zero_stage = 0;
  // Micro-batches per iteration (gradient accumulation).
  uint32_t micro_batches = 1;

  friend bool operator==(const Parallelism&, const Parallelism&) = default;
};

// How a job may be resized while it trains. An iteration does the same work at every size (its batch is split over more
// or fewer GPUs), so progress counts in iterations.
struct Elasticity {
  // GPUs that it may run on, ascending; contains Job::num_gpus, what its owner asks for. Empty: only that.
  std::vector<uint32_t> sizes;
  // From getting GPUs until training continues, also at the first start.
  SimDuration restart_cost;
  // Share of its iterations after which its length can be foreseen, 0..1; nothing: never.
  std::optional<double> predictable_after = 0;
};

// A training job: a gang of ranks, one per GPU.
struct Job {
  JobId id;
  std::string name;
  uint32_t num_gpus = 0;       // >= 1
  uint32_t gpus_per_host = 8;  // >= 1; GPUs it asks for on each of its hosts
  // Where its ranks have to be, in order; empty: the placement policy chooses. As many as it needs at gpus_per_host.
  std::vector<HostId> hosts;
  std::string model_profile;  // name of a collective::ModelProfile
  Parallelism parallelism;
  SimTime arrival;
  // Ends after this many iterations; 0 = no such end.
  uint64_t num_iterations = 0;
  // Gives its GPUs back this long after it got them, however far it has come; 0 = no such end.
  SimDuration hold_time;
  // Known beforehand: the share of an iteration that it spends on the network when alone, 0..1. A hint for placement
  // policies; 0 = unknown.
  double network_share = 0;
  Elasticity elasticity;  // matters where an allocation policy decides about sizes
};

// Which GPU each rank runs on: gpus[rank]. Ranks of one host are consecutive.
struct Placement {
  std::vector<GpuId> gpus;

  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace fairlead::model
