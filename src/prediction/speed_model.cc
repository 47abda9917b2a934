#include "prediction/speed_model.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "prediction/nnls.h"

namespace fairlead::prediction {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A term is kept when this share of its column is not spanned by the terms before it. Larger: nearly dependent columns
// are left out too, and their coefficients are no longer recovered.
constexpr double kIndependence = 1e-6;

// Terms in the order in which they claim what the sample can't tell apart: a constant is compute, w/p is transfer.
constexpr std::array<SpeedTerm, kNumSpeedTerms> kClaimOrder = {
    SpeedTerm::kFixedCompute,   SpeedTerm::kSampleCompute,  SpeedTerm::kTransfer, SpeedTerm::kWorkerOverhead,
    SpeedTerm::kServerOverhead, SpeedTerm::kGpuAggregation, SpeedTerm::kUpdate};

bool IsValidTime(const SpeedObservation& observation) {
  return std::isfinite(observation.iteration_time.value()) && observation.iteration_time.value() > 0;
}

double WorkerSlowDown(const ServerConfiguration& c, const SpeedModelOptions& options) {
  return c.gpus > 0 || !options.worker_efficiency ? 1 : options.worker_efficiency->SlowDown(c.worker_cores);
}

double ServerSlowDown(const ServerConfiguration& c, const SpeedModelOptions& options) {
  return options.server_efficiency ? options.server_efficiency->SlowDown(c.server_cores) : 1;
}

double TermValue(SpeedTerm term, const ServerConfiguration& c, const SpeedModelOptions& options) {
  switch (term) {
    case SpeedTerm::kSampleCompute:
      return WorkerSlowDown(c, options) * c.global_batch / c.workers;
    case SpeedTerm::kFixedCompute:
      return WorkerSlowDown(c, options);
    case SpeedTerm::kTransfer:
      return c.workers / c.servers;
    case SpeedTerm::kUpdate:
      return ServerSlowDown(c, options) * (options.update_shared_by_servers ? c.workers / c.servers : 1);
    case SpeedTerm::kWorkerOverhead:
      return c.workers;
    case SpeedTerm::kServerOverhead:
      return c.servers;
    case SpeedTerm::kGpuAggregation:
      return c.gpus;
  }
  return 0;
}

// Rows of valid observations, each divided by its measured time; the right side is then 1.
Result<MatrixXd> MakeRows(std::span<const SpeedObservation> observations, const SpeedModelOptions& options) {
  std::vector<const SpeedObservation*> valid;
  for (size_t i = 0; i < observations.size(); ++i) {
    if (const Status status = CheckConfiguration(observations[i].configuration); !status.ok()) {
      return InvalidArgument(fmt::format("speed observation {}: {}", i + 1, status.message()));
    }
    if (IsValidTime(observations[i])) valid.push_back(&observations[i]);
  }
  if (valid.empty()) {
    return InvalidArgument(
        fmt::format("speed model: none of {} observations has a positive iteration time; measure at "
                    "least one iteration",
                    observations.size()));
  }
  MatrixXd rows(static_cast<Index>(valid.size()), static_cast<Index>(kNumSpeedTerms));
  for (size_t i = 0; i < valid.size(); ++i) {
    for (size_t t = 0; t < kNumSpeedTerms; ++t) {
      rows(static_cast<Index>(i), static_cast<Index>(t)) =
          TermValue(static_cast<SpeedTerm>(t), valid[i]->configuration, options) / valid[i]->iteration_time.value();
    }
  }
  return rows;
}

// Gram-Schmidt in the order of claims, each column projected twice against rounding.
std::vector<SpeedTerm> IndependentTerms(const MatrixXd& rows) {
  std::vector<SpeedTerm> kept;
  std::vector<VectorXd> directions;
  for (const SpeedTerm term : kClaimOrder) {
    const VectorXd column = rows.col(static_cast<Index>(term));
    VectorXd rest = column;
    for (int pass = 0; pass < 2; ++pass) {
      for (const VectorXd& direction : directions) rest -= direction.dot(rest) * direction;
    }
    if (!(rest.norm() > kIndependence * column.norm())) continue;
    kept.push_back(term);
    directions.push_back(rest.normalized());
  }
  return kept;
}

double SpeedErrorOn(const SpeedModel& model, const SpeedObservation& observation) {
  return std::abs(observation.iteration_time / model.IterationTime(observation.configuration) - 1);
}

}  // namespace

Status CheckConfiguration(const ServerConfiguration& c) {
  const bool is_finite =
      std::isfinite(c.workers + c.servers + c.global_batch + c.gpus + c.worker_cores + c.server_cores);
  if (is_finite && c.workers >= 1 && c.servers >= 1 && c.global_batch > 0 && c.gpus >= 0 && c.worker_cores >= 0 &&
      c.server_cores >= 0) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format(
      "expected at least 1 worker, 1 server, a positive batch and no negative numbers, found {} workers, {} "
      "servers, batch {}, {} GPUs, {} and {} cores",
      c.workers, c.servers, c.global_batch, c.gpus, c.worker_cores, c.server_cores));
}

std::string_view Name(SpeedTerm term) {
  constexpr std::array<std::string_view, kNumSpeedTerms> kNames = {
      "compute per sample", "compute, fixed", "push and pull", "update", "per worker", "per server", "per GPU"};
  return kNames[static_cast<size_t>(term)];
}

Seconds SpeedModel::IterationTime(const ServerConfiguration& configuration) const {
  double sum = 0;
  for (size_t t = 0; t < kNumSpeedTerms; ++t) {
    if (coefficients[t] > 0) sum += coefficients[t] * TermValue(static_cast<SpeedTerm>(t), configuration, options);
  }
  return Seconds(sum);
}

Result<SpeedModel> FitSpeedModel(std::span<const SpeedObservation> observations, const SpeedModelOptions& options) {
  FL_ASSIGN_OR_RETURN(const MatrixXd rows, MakeRows(observations, options));
  SpeedModel model;
  model.options = options;
  model.num_used = static_cast<size_t>(rows.rows());
  model.num_skipped = observations.size() - model.num_used;
  const std::vector<SpeedTerm> terms = IndependentTerms(rows);
  MatrixXd a(rows.rows(), static_cast<Index>(terms.size()));
  for (size_t i = 0; i < terms.size(); ++i) a.col(static_cast<Index>(i)) = rows.col(static_cast<Index>(terms[i]));
  const VectorXd x = SolveNnls(a, VectorXd::Ones(rows.rows()));
  for (size_t i = 0; i < terms.size(); ++i) {
    const auto t = static_cast<size_t>(terms[i]);
    model.coefficients[t] = x(static_cast<Index>(i));
    model.is_identifiable[t] = true;
  }
  return model;
}

RelativeError SummarizeErrors(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::ranges::sort(errors);
  const size_t n = errors.size();
  return {.mean = std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(n),
          .median = n % 2 == 1 ? errors[n / 2] : (errors[n / 2 - 1] + errors[n / 2]) / 2,
          .max = errors.back(),
          .count = n};
}

RelativeError ErrorOn(const SpeedModel& model, std::span<const SpeedObservation> observations) {
  std::vector<double> errors;
  for (const SpeedObservation& observation : observations) {
    if (!IsValidTime(observation)) continue;
    errors.push_back(SpeedErrorOn(model, observation));
  }
  return SummarizeErrors(std::move(errors));
}

Result<RelativeError> CrossValidate(std::span<const SpeedObservation> observations, const SpeedModelOptions& options,
                                    size_t num_folds, uint64_t seed) {
  std::vector<SpeedObservation> shuffled;
  std::ranges::copy_if(observations, std::back_inserter(shuffled), IsValidTime);
  if (num_folds < 2 || shuffled.size() < num_folds) {
    return InvalidArgument(
        fmt::format("speed model: {} folds need at least as many valid observations, and two; found {}", num_folds,
                    shuffled.size()));
  }
  Random random(seed);
  random.Shuffle(std::span(shuffled));
  std::vector<double> errors;
  for (size_t fold = 0; fold < num_folds; ++fold) {
    std::vector<SpeedObservation> rest;
    std::vector<SpeedObservation> held_out;
    for (size_t i = 0; i < shuffled.size(); ++i) (i % num_folds == fold ? held_out : rest).push_back(shuffled[i]);
    FL_ASSIGN_OR_RETURN(const SpeedModel model, FitSpeedModel(rest, options));
    for (const SpeedObservation& observation : held_out) {
      errors.push_back(SpeedErrorOn(model, observation));
    }
  }
  return SummarizeErrors(std::move(errors));
}

}  // namespace fairlead::prediction
