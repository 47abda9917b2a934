#include "sim/elastic/loss_forecasts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/normal_distribution.h"
#include "base/random.h"
#include "prediction/convergence_model.h"
#include "prediction/feature_selection.h"
#include "prediction/job_table.h"
#include "prediction/service_history.h"

namespace fairlead::sim {
namespace {

constexpr uint64_t kLogSeed = 0x6c6f67;
constexpr size_t kTrainingStride = 4;
constexpr size_t kFewestEpochs = 5;   // that the convergence model takes
constexpr double kMissedShare = 0.2;  // of forecasts, outside of the interval
constexpr double kLeastCurveSigma = 0.05;

Result<prediction::PredictabilityModel> TrainClassifier(uint64_t seed, size_t num_training_jobs) {
  prediction::JobGeneratorOptions past;
  past.seed = seed;
  past.num_jobs = num_training_jobs;
  const prediction::JobTable table = prediction::ToJobTable(prediction::GenerateJobs(past));
  const prediction::FeatureTable rows = prediction::MakeTrainingTable(table, kTrainingStride);
  if (rows.num_rows() == 0) {
    return InvalidArgument(
        fmt::format("learned models: {} finished jobs teach nothing; expected more of them", num_training_jobs));
  }
  const prediction::FeatureSelection selection = prediction::SelectFeatures(rows, seed);
  return prediction::PredictabilityModel::Train(rows, prediction::LearnerKind::kRandomForest, selection, seed);
}

// Of a normal number whose interval of 80 % is this factor wide on each side.
double SigmaOf(double factor) {
  return std::max(kLeastCurveSigma, std::log(factor) / NormalQuantile(1 - kMissedShare / 2));
}

}  // namespace

Result<LossForecasts> LossForecasts::Create(const std::vector<ElasticJobSpec>& workload, uint64_t seed,
                                            size_t num_training_jobs) {
  FL_ASSIGN_OR_RETURN(auto classifier, TrainClassifier(seed, num_training_jobs));
  prediction::JobGeneratorOptions options;
  options.seed = CombineHash(seed, kLogSeed);
  options.num_jobs = workload.size();
  std::vector<Log> logs;
  for (prediction::GeneratedJob& generated : prediction::GenerateJobs(options)) {
    Log log;
    // A log that never reaches its target ends with its last epoch.
    log.end = std::isfinite(generated.true_end) ? generated.true_end : generated.record.epochs.back().iteration;
    log.generated = std::move(generated);
    logs.push_back(std::move(log));
  }
  LossForecasts made(std::move(classifier), std::move(logs));
  made.log_sigma_ = SigmaOf(1 + prediction::LabelOptions().tolerance);
  return made;
}

void LossForecasts::Observe(uint32_t j, const ElasticJob& job, double now_s) {
  Log& log = logs_[j];
  if (job.is_finished()) {
    LearnError(log);
    return;
  }
  const double log_now = job.run().done_share() * log.end;
  Evaluate(&log, log_now, now_s);
  if (!log.predicted_end) return;
  // In between two evaluations the last prediction counts down.
  const double total = job.run().RemainingIterations() / std::max(1e-9, 1 - job.run().done_share());
  log.remaining_iterations = std::max(1.0, (*log.predicted_end - log_now) / log.end * total);
}

void LossForecasts::Evaluate(Log* log, double log_now, double now_s) const {
  const std::vector<prediction::EpochReport>& epochs = log->generated.record.epochs;
  const prediction::JobDescription& description = log->generated.record.description;
  const auto seen = static_cast<size_t>(
      std::ranges::upper_bound(epochs, log_now, {}, &prediction::EpochReport::iteration) - epochs.begin());
  if (seen < kFewestEpochs || seen == log->num_seen) return;
  if (!prediction::IsEvaluationDue(log->state, Seconds(now_s))) return;
  log->num_seen = seen;
  const auto visible = std::span(epochs).first(seen);
  const double score = classifier_.Score(prediction::ComputeFeatures(description, visible));
  log->state = prediction::AfterScore(log->state, Seconds(now_s), score);
  prediction::ConvergenceOptions options;
  options.num_bootstraps = 0;
  options.declared_drops = description.rate_drops;
  const prediction::ConvergenceFit fit = prediction::FitConvergence(prediction::LossCurve(visible), options);
  if (!fit.usable()) return;
  const double measured_at = visible.back().iteration;
  const double left = prediction::PredictRemaining(fit, description.target_loss, measured_at).expected;
  if (!std::isfinite(left)) return;
  const double end = measured_at + left;
  if (log->state.is_predictable && log->predicted_end) {
    log->state = prediction::AfterError(log->state, std::abs(end - *log->predicted_end) / std::max(left, 1.0));
  }
  log->predicted_end = end;
  if (log->state.is_predictable && !log->first) log->first = Prediction{measured_at, end};
}

void LossForecasts::LearnError(const Log& log) {
  if (!log.first || log.end <= log.first->made_at) return;
  const double least = 1e-3 * log.end;
  error_ratios_.push_back((log.end - log.first->made_at) / std::max(log.first->end - log.first->made_at, least));
  const double factor = prediction::ConformalFactor(error_ratios_, kMissedShare);
  if (std::isfinite(factor)) log_sigma_ = SigmaOf(factor);
}

std::optional<CurveForecast> LossForecasts::Remaining(uint32_t j) const {
  const Log& log = logs_[j];
  if (!log.is_predictable()) return std::nullopt;
  return CurveForecast{log.remaining_iterations, log_sigma_};
}

uint32_t LossForecasts::num_flips() const {
  return static_cast<uint32_t>(std::ranges::count_if(logs_, [](const Log& log) { return log.state.is_predictable; }));
}

uint32_t LossForecasts::num_withdrawn() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(logs_, [](const Log& log) { return log.state.num_withdrawn > 0; }));
}

}  // namespace fairlead::sim
