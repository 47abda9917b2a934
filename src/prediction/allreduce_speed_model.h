// Speed of training with all-reduce: the time of one iteration as a function of replicas, nodes and batch.
//
// Problem     from measured iterations (configuration, seconds, seconds of compute) of one job, find a model that holds
//             for unmeasured configurations.
// Notation    k, n, m, s -> replicas, nodes, local_batch, accumulations;  T_c, T_n -> compute, network
//             alpha_c, beta_c; alpha_n, beta_n; alpha_r, beta_r -> compute, across (nodes), inside (one node): Line
// Method      T_c = alpha_c + beta_c m;  T_n = 0 for k = 1, else alpha + beta max(k - 2, 0) of `inside` for n = 1, of
//             `across` for n > 1;  T = s T_c + (T_c^gamma + T_n^gamma)^(1/gamma), 1 <= gamma <= 10.
//             Least sum of the root mean squares of the logarithmic errors of T_c and of T's last summand, 1e-3
//             (gamma - 1)^2 and 1e-2 (beta / alpha)^2, by Levenberg-Marquardt (Eigen) on reweighted squares; bounds by
//             substitution. Before the first measurement on several nodes, `across` is 1.1 x `inside`.
// Cost        at most 12 solves, some 30 iterations together, each O(rows): 1 ms for 15 observations.
// Guarantees  no parameter is negative, so no time is; T lies between max(T_c, T_n) and T_c + T_n for s = 0.
// Differs     Levenberg-Marquardt where the published fit uses bounded quasi-Newton; the objective is the same.
// Reference   Qiao et al., Pollux, OSDI 2021, section 4.1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace fairlead::prediction {

struct ReplicaConfiguration {
  double replicas = 1;  // >= 1
  double nodes = 1;     // 1 … replicas
  double local_batch = 1;
  double accumulations = 0;  // further local iterations before gradients are exchanged
};

struct ReplicaObservation {
  ReplicaConfiguration configuration;
  Seconds iteration_time;  // without accumulations: one local iteration and the exchange
  Seconds compute_time;    // of one local iteration; 0: not measured
};

// alpha + beta x
struct Line {
  double alpha = 0;  // s
  double beta = 0;   // s per unit
};

struct ReplicaSpeedModel {
  Line compute;
  Line across;
  Line inside;
  double gamma = 1;
  size_t num_used = 0;                // observations
  size_t num_skipped = 0;             // observations without a valid time
  bool has_several_nodes = false;     // false: `across` is an assumption
  bool has_several_replicas = false;  // false: nothing is known about the network; it counts as free

  Seconds ComputeTime(const ReplicaConfiguration& configuration) const;
  Seconds NetworkTime(const ReplicaConfiguration& configuration) const;
  Seconds IterationTime(const ReplicaConfiguration& configuration) const;
};

// What a fit takes for granted where observations say nothing.
enum class FitAssumptions : uint8_t {
  kUsual,
  // Also, as Pollux' code has it: with one local batch, half of the mean compute time does not depend on it; without
  // more than two replicas, the network does not depend on their number.
  kPollux,
};

// Observations with an iteration time that is not positive and finite are skipped and counted. Errors: kInvalidArgument
// when a configuration is impossible (the message names the observation) or none is left.
Result<ReplicaSpeedModel> FitReplicaSpeedModel(std::span<const ReplicaObservation> observations,
                                               FitAssumptions assumptions = FitAssumptions::kUsual);

}  // namespace fairlead::prediction
