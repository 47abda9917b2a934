// Speed of training with parameter servers: the time of one iteration as a function of what the job is given.
//
// Problem     from measured iterations of one job (configuration, seconds), find a model that holds for unmeasured
//             configurations.
// Notation    w, p, M, m = M/w, g, c_w, c_p -> workers, servers, global_batch, batch of a worker, gpus, worker_cores,
//             server_cores;  e_w, e_p -> CpuEfficiency::SlowDown;  theta_i -> coefficients[SpeedTerm]
// Method      T = e_w(c_w) (theta_0 m + theta_1) + theta_2 w/p + theta_3 e_p(c_p) w/p + theta_4 w + theta_5 p +
//             theta_6 g: forward and backward, push and pull, update, overhead of each worker and each server,
//             aggregation between GPUs. Least squares without negative coefficients on rows divided by the measured
//             time, so that relative errors count.
// Cost        O(rows) for a fit, O(1) for a prediction.
// Guarantees  no coefficient is negative, so no time is. Without noise the coefficients are found to 1e-6.
// Differs     a column that the kept ones span in the sample has no coefficient: it is left out and reported. Without
//             CPU curves theta_2 means theta_2 + theta_3. `update_shared_by_servers` false is what the prototype's
//             comment says, theta_3 e_p without w/p; its formula has w/p, the default here.
// Reference   Zhao et al., AITurbo, HPDC 2021; Peng et al., Optimus, EuroSys 2018, section 3.2.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "prediction/cpu_efficiency.h"

namespace fairlead::prediction {

// What a job with parameter servers is given.
struct ServerConfiguration {
  double workers = 1;  // >= 1
  double servers = 1;  // >= 1
  double global_batch = 1;
  double gpus = 0;          // 0: workers compute on CPUs
  double worker_cores = 1;  // of each
  double server_cores = 1;  // of each
};

// Errors: kInvalidArgument when workers or servers are below 1, the batch is not positive, or a number is negative or
// not finite.
Status CheckConfiguration(const ServerConfiguration& configuration);

struct SpeedObservation {
  ServerConfiguration configuration;
  // Of one iteration. Observations that are not positive and finite are passed over and counted.
  Seconds iteration_time;
};

// The summands, theta_0 … theta_6 in this order.
enum class SpeedTerm {
  kSampleCompute,   // forward and backward, per sample of a worker's batch
  kFixedCompute,    // forward and backward, whatever the batch
  kTransfer,        // push and pull
  kUpdate,          // update on the servers
  kWorkerOverhead,  // per worker
  kServerOverhead,  // per server
  kGpuAggregation,  // per GPU of the job
};
inline constexpr size_t kNumSpeedTerms = 7;
std::string_view Name(SpeedTerm term);

struct SpeedModelOptions {
  // CPU curves of the two roles. None: cores don't matter. With GPU workers (gpus > 0) the worker's curve is not used.
  std::optional<CpuEfficiency> worker_efficiency;
  std::optional<CpuEfficiency> server_efficiency;
  // True: the update takes w/p as long with w workers and p servers. False: as long whatever their numbers.
  bool update_shared_by_servers = true;
};

struct SpeedModel {
  SpeedModelOptions options;
  std::array<double, kNumSpeedTerms> coefficients{};  // s per unit of the term, >= 0
  // False: the sample can't tell this term from the others; its coefficient is 0.
  std::array<bool, kNumSpeedTerms> is_identifiable{};
  size_t num_used = 0;     // observations
  size_t num_skipped = 0;  // observations without a valid time

  double coefficient(SpeedTerm term) const { return coefficients[static_cast<size_t>(term)]; }
  bool identifiable(SpeedTerm term) const { return is_identifiable[static_cast<size_t>(term)]; }

  // Time of one iteration; never negative. Args: workers, servers >= 1.
  Seconds IterationTime(const ServerConfiguration& configuration) const;
};

// Errors: kInvalidArgument when a configuration is impossible (workers or servers below 1, a number that is not
// finite or negative; the message names the observation), or when no observation is left.
Result<SpeedModel> FitSpeedModel(std::span<const SpeedObservation> observations, const SpeedModelOptions& options = {});

// How far the predicted speed (1 / time) is from the measured one, relative to the measured one.
struct RelativeError {
  double mean = 0;
  double median = 0;
  double max = 0;
  size_t count = 0;
};
RelativeError SummarizeErrors(std::vector<double> errors);

// Observations without a valid time are passed over.
RelativeError ErrorOn(const SpeedModel& model, std::span<const SpeedObservation> observations);

// Fits on all folds but one and measures on that one. Args: num_folds >= 2, at most the number of valid observations.
// Errors: those of FitSpeedModel, and kInvalidArgument for too few observations.
Result<RelativeError> CrossValidate(std::span<const SpeedObservation> observations, const SpeedModelOptions& options,
                                    size_t num_folds, uint64_t seed);

}  // namespace fairlead::prediction
