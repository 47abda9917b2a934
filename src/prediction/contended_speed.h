// Speed of a job on a network that it shares: what a profile says of it alone, corrected by what is measured.
//
// Problem     the sizes of a job were profiled while no other job was on the network. Beside others its iterations take
//             longer, by a factor that is unknown beforehand, changes, and carries information about sizes that were
//             not measured: those on several hosts suffer, those inside one host don't.
// Notation    C(k), N(k), T(k) -> compute, network, iteration: SpeedPoint of k GPUs, alone;  s -> contention: how many
//             times longer a transfer between hosts takes than alone;  h -> half-life (job_speed.h).
// Method      an iteration is compute that waits for nothing, then the network: T(k, s) = max(C, a + s N), where
//             a = T - N is what the network can't hide behind. A measured time T' on several hosts gives
//             s' = (T' - a) / N; s moves towards s' by 1 - 2^(-dt / h), dt = time measured. The first measurement
//             counts in full.
// Cost        O(1) per measurement and prediction.
// Guarantees  without a measurement: the profile. s >= kLeast > 0, so no time is negative; T(k, s) never falls in s.
//             A size on one host keeps its profile.
// Differs     our own; the paper's speed model knows no other jobs (speed_model.h, allreduce_speed_model.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "prediction/job_speed.h"

namespace fairlead::prediction {

// One size of a job, profiled alone in its densest placement.
struct SpeedPoint {
  uint32_t num_gpus = 0;
  uint32_t num_hosts = 0;
  Seconds iteration;  // > 0
  Seconds compute;    // 0 … iteration: were the network infinitely fast
  Seconds network;    // 0 … iteration: were the GPUs infinitely fast; 0 inside one host
};

class ContendedSpeed final : public JobSpeed {
 public:
  // Args: profile, GPUs ascending. Errors: kInvalidArgument for an empty profile, sizes out of order, times that are
  // not finite, not positive, or longer than the iteration.
  static Result<ContendedSpeed> Create(std::vector<SpeedPoint> profile);

  std::span<const SpeedPoint> profile() const { return profile_; }

  size_t num_sizes() const override { return profile_.size(); }
  // Passed over are also measurements on one host, and those of a size that needs no network: they say nothing about it.
  void Observe(uint32_t num_gpus, uint32_t num_hosts, Seconds iteration, Seconds measured_for) override;
  Seconds Predict(size_t index) const override;
  // How many times longer than alone its transfers between hosts take; 1 before the first measurement.
  double contention() const { return contention_; }
  uint64_t num_observed() const { return num_observed_; }
  // kErrorUnmeasured before the second measurement: the error of the first is that of the profile.
  double relative_error() const override;

  static constexpr double kErrorUnmeasured = 0.1;

 private:
  explicit ContendedSpeed(std::vector<SpeedPoint> profile) : profile_(std::move(profile)) {}

  std::vector<SpeedPoint> profile_;
  double contention_ = 1;
  PredictionError error_;
  uint64_t num_observed_ = 0;
};

}  // namespace fairlead::prediction
