// What makes one iteration of a job differ from the next, and one of its GPUs from another.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "base/sim_time.h"
#include "execution/noise.h"
#include "model/telemetry.h"

namespace fairlead::execution {

class JobNoise {
 public:
  // Args: options valid; num_ranks of the job.
  JobNoise(const NoiseOptions& options, uint32_t num_ranks, uint64_t seed);

  // Factors with mean 1 of the next computation of a rank, and of the next exchange within a host.
  double ComputeFactor(model::RankId rank) { return gpu_factors_[rank.index()] * compute_.Next(); }
  double CollectiveFactor() { return compute_.Next(); }
  // Of what waits for storage: loading, checkpoints, pauses.
  double LoadingFactor() { return loading_.Next(); }
  // How long a rank's host thread pauses in this iteration; mostly 0.
  SimDuration Hiccup();

 private:
  double hiccup_;  // probability
  SimDuration hiccup_mean_;
  NoiseTable compute_;
  NoiseTable loading_;
  Random hiccup_random_;
  std::vector<double> gpu_factors_;  // [rank]
};

}  // namespace fairlead::execution
