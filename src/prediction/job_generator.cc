#include "prediction/job_generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/bounded_normal.h"
#include "base/random.h"

namespace fairlead::prediction {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double DrawLog(Random& random, double low, double high) {
  return std::exp(random.Uniform(std::log(low), std::log(high)));
}

CurveKind DrawKind(Random& random, const JobGeneratorOptions& options) {
  double sum = 0;
  for (const double share : options.shares) sum += share;
  double at = random.Uniform() * sum;
  size_t kind = 0;
  while (kind + 1 < kNumCurveKinds && at >= options.shares[kind]) at -= options.shares[kind++];
  return static_cast<CurveKind>(kind);
}

// A family of models goes with each kind: transformers, convolutions, recurrent nets, recommenders.
void DescribeModel(CurveKind family, Random& random, JobDescription* job) {
  switch (family) {
    case CurveKind::kSmooth:
      job->parameters = DrawLog(random, 5e7, 1e10);
      job->layers = std::floor(random.Uniform(12, 96));
      job->attention_share = random.Uniform(0.5, 0.9);
      job->embedding_share = 1 - job->attention_share;
      break;
    case CurveKind::kDrops:
      job->parameters = DrawLog(random, 3e6, 2e8);
      job->layers = std::floor(random.Uniform(16, 152));
      job->convolution_share = random.Uniform(0.7, 1);
      break;
    case CurveKind::kNoisy:
      job->parameters = DrawLog(random, 1e6, 1e8);
      job->layers = std::floor(random.Uniform(3, 12));
      job->recurrent_share = random.Uniform(0.5, 0.9);
      job->convolution_share = 1 - job->recurrent_share;
      break;
    case CurveKind::kDivergent:
      job->parameters = DrawLog(random, 1e6, 1e9);
      job->layers = std::floor(random.Uniform(2, 8));
      job->embedding_share = random.Uniform(0.6, 0.95);
      break;
  }
  job->flop_per_sample = 6 * job->parameters * random.Uniform(0.5, 50);
}

void DescribeHyperParameters(CurveKind kind, CurveKind family, Random& random, JobDescription* job) {
  job->global_batch = std::exp2(5 + static_cast<double>(random.Below(8)));
  job->is_adaptive = family != CurveKind::kDrops;
  job->learning_rate = job->is_adaptive ? DrawLog(random, 1e-5, 1e-3) : DrawLog(random, 1e-2, 0.5);
  if (kind == CurveKind::kDivergent) job->learning_rate *= random.Uniform(1, 20);
  job->schedule = kind == CurveKind::kDrops ? RateSchedule::kDrops
                  : random.Below(2) == 0    ? RateSchedule::kSmooth
                                            : RateSchedule::kConstant;
  job->is_synchronous = random.Below(5) != 0;
  job->samples_per_epoch = DrawLog(random, 1e4, 1e7);
  job->restarts = static_cast<double>(random.Below(3));
}

// The loss without noise, as pieces of hyperbolas in epochs.
struct IdealCurve {
  std::vector<double> starts;  // epoch at which each piece begins; the first is 0
  std::vector<ConvergenceCurve> pieces;
  double diverges_after = kNever;  // epoch
  bool turns_nan = false;

  double LossAt(double epoch) const {
    if (epoch > diverges_after && turns_nan) return std::numeric_limits<double>::quiet_NaN();
    size_t piece = 0;
    while (piece + 1 < starts.size() && epoch > starts[piece + 1]) ++piece;
    const double loss = pieces[piece].LossAt(std::min(epoch, diverges_after));
    return epoch > diverges_after ? loss * (1 + 0.15 * (epoch - diverges_after)) : loss;
  }
};

IdealCurve DrawCurve(CurveKind kind, double num_epochs, Random& random) {
  IdealCurve curve;
  curve.starts = {0};
  ConvergenceCurve piece;
  piece.scale = random.Uniform(1, 8);
  piece.slope = random.Uniform(0.05, 0.3);
  piece.offset = 1;
  piece.floor = random.Uniform(0.02, 0.2);
  if (kind == CurveKind::kDrops) piece.floor = random.Uniform(0.3, 0.4);
  curve.pieces = {piece};
  if (kind == CurveKind::kDivergent) {
    curve.diverges_after = std::floor(num_epochs * random.Uniform(0.2, 0.6));
    curve.turns_nan = random.Below(2) == 0;
  }
  if (kind != CurveKind::kDrops) return curve;
  for (const double at : {0.35, 0.65}) {
    const double start = std::floor(num_epochs * at);
    const ConvergenceCurve& before = curve.pieces.back();
    // The next piece begins well below where the last one ends, and has a lower floor.
    ConvergenceCurve after = before;
    after.first_iteration = start;
    after.floor = before.floor * 0.5;
    const double above = before.LossAt(start) / before.scale * 0.75 - after.floor;
    after.offset = 1 / above;
    after.slope = 0.02 / above;
    curve.starts.push_back(start);
    curve.pieces.push_back(after);
  }
  return curve;
}

double DrawNoise(CurveKind kind, Random& random) {
  return kind == CurveKind::kNoisy ? random.Uniform(0.05, 0.15) : random.Uniform(0.002, 0.01);
}

GeneratedJob GenerateJob(size_t index, const JobGeneratorOptions& options) {
  Random random(CombineHash(options.seed, index));
  GeneratedJob job;
  job.kind = DrawKind(random, options);
  JobDescription& description = job.record.description;
  description.name = fmt::format("job-{:04}", index);
  const bool is_surprise = random.Uniform() < options.surprise;
  const CurveKind family = is_surprise ? static_cast<CurveKind>(random.Below(kNumCurveKinds)) : job.kind;
  DescribeModel(family, random, &description);
  DescribeHyperParameters(job.kind, family, random, &description);
  const double num_epochs = std::floor(random.Uniform(30, 80));
  const double per_epoch = std::ceil(description.samples_per_epoch / description.global_batch);
  const IdealCurve curve = DrawCurve(job.kind, num_epochs, random);
  for (size_t i = 1; i < curve.starts.size(); ++i) description.rate_drops.push_back(curve.starts[i] * per_epoch);
  const bool diverges = job.kind == CurveKind::kDivergent;
  job.true_end = diverges ? kNever : num_epochs * per_epoch;
  // What its owner hopes for: also where it never comes.
  description.target_loss = diverges ? curve.pieces[0].LossAt(num_epochs) : curve.LossAt(num_epochs);
  const double noise = DrawNoise(job.kind, random);
  const double seconds = DrawLog(random, 0.05, 2);
  for (double epoch = 1; epoch <= num_epochs; ++epoch) {
    job.record.epochs.push_back({.iteration = epoch * per_epoch,
                                 .loss = curve.LossAt(epoch) * std::max(1 + noise * DrawBoundedNormal(random), 0.1),
                                 .iteration_time_s = seconds * (1 + 0.03 * std::abs(DrawBoundedNormal(random)))});
  }
  return job;
}

}  // namespace

std::string_view Name(CurveKind kind) {
  constexpr std::string_view kNames[kNumCurveKinds] = {"smooth", "drops", "noisy", "divergent"};
  return kNames[static_cast<size_t>(kind)];
}

std::vector<GeneratedJob> GenerateJobs(const JobGeneratorOptions& options) {
  std::vector<GeneratedJob> jobs;
  jobs.reserve(options.num_jobs);
  for (size_t i = 0; i < options.num_jobs; ++i) jobs.push_back(GenerateJob(i, options));
  return jobs;
}

}  // namespace fairlead::prediction
