// A random cluster of one kind: which fabric, how busy, with which jobs.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "sim/scenario.h"

namespace fairlead::experiments {

// What studies vary. 16 hosts of 8 GPUs and 4 NICs of two ports each, whatever the fabric.
struct ClusterCell {
  std::string fabric;           // "clos2", "double-sided" or "rail"
  double oversubscription = 1;  // of the leaves' uplinks
  double load = 0.5;            // share of the GPUs that jobs hold, at least
  uint32_t queue_pairs = 1;     // of each connection

  std::string Label() const;  // "rail 2:1, load 0.9, 4 QPs"
};

// Jobs of 8 to 64 GPUs with models of the built-in profiles, on hosts drawn at random. The same for the same seed.
Result<sim::Scenario> DrawCluster(const ClusterCell& cell, uint64_t seed, double simulated_s);

}  // namespace fairlead::experiments
