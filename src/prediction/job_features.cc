#include "prediction/job_features.h"

#include <algorithm>
#include <cmath>

namespace fairlead::prediction {

namespace {

// A job without a known next drop is as far from it as this.
constexpr double kFarEpochs = 1000;
// Changes of the loss are looked at over this many epochs.
constexpr size_t kRecentEpochs = 5;
constexpr double kMostChange = 10;

double Log10(double magnitude) { return magnitude > 0 && std::isfinite(magnitude) ? std::log10(magnitude) : 0; }

double FiniteOr(double value, double fallback) { return std::isfinite(value) ? value : fallback; }

double EpochsToNextDrop(const JobDescription& job, std::span<const EpochReport> epochs) {
  if (epochs.empty()) return kFarEpochs;
  const double now = epochs.back().iteration;
  const auto next = std::ranges::find_if(job.rate_drops, [now](double drop) { return drop > now; });
  const double iterations_per_epoch = now / static_cast<double>(epochs.size());
  if (next == job.rate_drops.end() || !(iterations_per_epoch > 0)) return kFarEpochs;
  return std::min((*next - now) / iterations_per_epoch, kFarEpochs);
}

struct LossStatus {
  double level = 1;      // last loss over the largest of the first three
  double slope = 0;      // mean recent change, in the same unit
  double curvature = 0;  // recent slope less the one before
  double upward_share = 0;
};

double MeanChange(std::span<const EpochReport> epochs, size_t last, double scale) {
  const size_t first = last > kRecentEpochs ? last - kRecentEpochs : 0;
  if (first == last) return 0;
  return (epochs[last].loss - epochs[first].loss) / scale / static_cast<double>(last - first);
}

LossStatus DescribeLoss(std::span<const EpochReport> epochs) {
  LossStatus status;
  double scale = 0;
  for (const EpochReport& epoch : epochs.first(std::min<size_t>(epochs.size(), 3))) {
    scale = std::max(scale, FiniteOr(epoch.loss, 0));
  }
  if (!(scale > 0) || epochs.size() < 2) return status;
  double num_upward = 0;
  for (size_t i = 1; i < epochs.size(); ++i) num_upward += !(epochs[i].loss <= epochs[i - 1].loss);
  status.upward_share = num_upward / static_cast<double>(epochs.size() - 1);
  const size_t last = epochs.size() - 1;
  const auto bounded = [](double v) { return std::clamp(FiniteOr(v, kMostChange), -kMostChange, kMostChange); };
  status.level = bounded(epochs[last].loss / scale);
  status.slope = bounded(MeanChange(epochs, last, scale));
  if (last > kRecentEpochs) status.curvature = bounded(status.slope - MeanChange(epochs, last - kRecentEpochs, scale));
  return status;
}

// Standard deviation over mean of the measured iteration times.
double TimeVariation(std::span<const EpochReport> epochs) {
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (const EpochReport& epoch : epochs) {
    if (!(epoch.iteration_time_s > 0) || !std::isfinite(epoch.iteration_time_s)) continue;
    sum += epoch.iteration_time_s;
    squares += epoch.iteration_time_s * epoch.iteration_time_s;
    ++count;
  }
  if (count < 2) return 0;
  const double mean = sum / count;
  return FiniteOr(std::sqrt(std::max(squares / count - mean * mean, 0.0)) / mean, 0);
}

}  // namespace

std::vector<LossPoint> LossCurve(std::span<const EpochReport> epochs) {
  std::vector<LossPoint> points;
  points.reserve(epochs.size());
  for (const EpochReport& epoch : epochs) points.push_back({epoch.iteration, epoch.loss});
  return points;
}

FeatureValues ComputeFeatures(const JobDescription& job, std::span<const EpochReport> epochs) {
  ConvergenceOptions options;
  options.num_bootstraps = 0;
  options.declared_drops = job.rate_drops;
  const ConvergenceFit fit = FitConvergence(LossCurve(epochs), options);
  const LossStatus loss = DescribeLoss(epochs);
  return {Log10(job.parameters),
          job.layers,
          Log10(job.flop_per_sample),
          job.convolution_share,
          job.attention_share,
          job.recurrent_share,
          job.embedding_share,
          Log10(job.global_batch),
          Log10(job.learning_rate),
          job.schedule == RateSchedule::kDrops ? 1.0 : 0.0,
          job.schedule == RateSchedule::kSmooth ? 1.0 : 0.0,
          EpochsToNextDrop(job, epochs),
          job.is_adaptive ? 1.0 : 0.0,
          job.is_synchronous ? 1.0 : 0.0,
          Log10(job.samples_per_epoch),
          static_cast<double>(epochs.size()),
          loss.level,
          loss.slope,
          loss.curvature,
          fit.usable() ? std::min(fit.residual, 1.0) : 1.0,
          fit.usable() ? 1.0 : 0.0,
          loss.upward_share,
          TimeVariation(epochs),
          job.restarts};
}

}  // namespace fairlead::prediction
