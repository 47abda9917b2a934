#include "sim/elastic/elastic_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace fairlead::sim {
namespace {

// exp(sigma * N(0, 1)), by Box and Muller.
double DrawFactor(double sigma, uint64_t seed) {
  if (sigma <= 0) return 1;
  Random random(seed);
  const double radius = std::sqrt(-2 * std::log(1 - random.Uniform()));
  return std::exp(sigma * radius * std::cos(2 * std::numbers::pi * random.Uniform()));
}

std::vector<scheduling::JobSize> PredictSizes(const ElasticJobSpec& spec, const ElasticCluster& cluster,
                                              const PredictionErrors& errors, uint32_t index) {
  std::vector<scheduling::JobSize> sizes;
  const ApplicationProfile& profile = *spec.profile;
  const uint32_t max_gpus = std::max(1u, profile.MaxGpus(spec.global_batch));
  for (uint32_t k = 1; k <= max_gpus && k <= std::max(cluster.num_gpus(), spec.requested_gpus); ++k) {
    const BatchSplit split = SplitBatch(profile.limits(), k, spec.global_batch, SingleGpuRule::kAlways);
    const auto pass = profile.QueryPass(DensePlacement(k, cluster.gpus_per_node), split.local_batch);
    const double iteration_s = pass ? IterationSeconds(*pass, split.num_accumulations) : 0;
    const uint64_t seed = CombineHash(CombineHash(errors.seed, index), k);
    sizes.push_back({k, k * cluster.cores_per_gpu, iteration_s * DrawFactor(errors.speed_sigma, seed)});
  }
  return sizes;
}

}  // namespace

Status ElasticCluster::Validate() const {
  if (num_nodes == 0 || gpus_per_node == 0) {
    return InvalidArgument(
        fmt::format("cluster: {} nodes of {} GPUs; expected at least one of each", num_nodes, gpus_per_node));
  }
  if (cores_per_gpu <= cores_per_node) return OkStatus();
  return InvalidArgument(
      fmt::format("cluster: a GPU needs {} cores, but its node has {}", cores_per_gpu, cores_per_node));
}

ElasticJob::ElasticJob(const ElasticJobSpec& spec, const ElasticCluster& cluster, const PredictionErrors& errors,
                       uint32_t index)
    : spec_(&spec),
      gpus_per_node_(cluster.gpus_per_node),
      remaining_factor_(DrawFactor(errors.remaining_sigma, CombineHash(errors.seed, index))),
      sizes_(PredictSizes(spec, cluster, errors, index)) {
  requested_size_ = std::min(spec.requested_gpus, static_cast<uint32_t>(sizes_.size())) - 1;
}

bool ElasticJob::is_predictable() const {
  if (!spec_->predictable_after) return false;
  return progress_ >= *spec_->predictable_after * spec_->profile->ProgressAtEndOf(spec_->profile->num_epochs() - 1);
}

double ElasticJob::PredictRemainingIterations() const {
  const ApplicationProfile& profile = *spec_->profile;
  const uint32_t last = profile.num_epochs() - 1;
  if (epoch_ >= last) return remaining_factor_;
  return remaining_factor_ * (profile.IterationsAtEndOf(spec_->global_batch, last) -
                              profile.IterationsAtEndOf(spec_->global_batch, epoch_));
}

std::optional<double> ElasticJob::RunSecondsAlone(uint32_t num_gpus) const {
  const ApplicationProfile& profile = *spec_->profile;
  const BatchSplit split = SplitBatch(profile.limits(), num_gpus, spec_->global_batch, SingleGpuRule::kLargeBatches);
  const auto pass = profile.QueryPass(DensePlacement(num_gpus, gpus_per_node_), split.local_batch);
  if (!pass) return std::nullopt;
  ElasticJob fresh = *this;
  fresh.split_ = split;
  fresh.num_gpus_ = num_gpus;
  double seconds = 0;
  double before = 0;
  for (fresh.epoch_ = 0; fresh.epoch_ < profile.num_epochs(); ++fresh.epoch_) {
    const double end = profile.ProgressAtEndOf(fresh.epoch_);
    seconds += (end - before) / fresh.Goodput(IterationSeconds(*pass, split.num_accumulations));
    before = end;
  }
  return seconds;
}

void ElasticJob::Reallocate(std::vector<scheduling::NodeShare> shares, double restart_s) {
  shares_ = std::move(shares);
  placement_.clear();
  num_gpus_ = 0;
  for (const scheduling::NodeShare& share : shares_) {
    if (share.num_gpus > 0) placement_.push_back(share.num_gpus);
    num_gpus_ += share.num_gpus;
  }
  if (shares_.empty()) return;
  FL_CHECK(num_gpus_ > 0);
  restart_left_s_ = restart_s;
  num_restarts_ = num_restarts_ ? *num_restarts_ + 1 : 0;
  split_ = SplitBatch(spec_->profile->limits(), num_gpus_, spec_->global_batch, SingleGpuRule::kLargeBatches);
  iteration_s_ = IterationSeconds(CurrentPass(), split_.num_accumulations);
}

PassTime ElasticJob::CurrentPass() {
  const ApplicationProfile& profile = *spec_->profile;
  if (const auto pass = profile.QueryPass(placement_, split_.local_batch)) return *pass;
  ++num_unknown_placements_;
  if (const auto pass = profile.QueryPass(DensePlacement(num_gpus_, gpus_per_node_), split_.local_batch)) return *pass;
  // Nothing is known at this size at all: the time of one GPU, as if more did not help.
  const auto alone = profile.QueryPass({1}, std::min(split_.local_batch, profile.limits().local_max));
  FL_CHECK_MSG(alone.has_value(), profile.name() + " has no time for one GPU");
  return *alone;
}

double ElasticJob::Goodput(double iteration_s) const {
  const double batch = split_.GlobalBatch(num_gpus_);
  const double scale = batch / spec_->profile->limits().first;
  const GradientStats stats = spec_->profile->QueryGradients(batch, epoch_);
  const double gain = (stats.var + stats.sqr) / (stats.var / scale + stats.sqr);
  return gain / iteration_s;
}

void ElasticJob::Hold(double seconds) {
  attained_gpu_s_ += seconds * num_gpus_;
  executed_s_ += seconds;
}

void ElasticJob::Advance(double now_s, double seconds) {
  if (shares_.empty() || is_finished()) return;
  const double delay = std::min(restart_left_s_, seconds);
  Hold(delay);
  restart_left_s_ -= delay;
  now_s += delay;
  seconds -= delay;
  while (seconds > 0 && !is_finished()) {
    const double goodput = Goodput(iteration_s_);
    const double next = spec_->profile->ProgressAtEndOf(epoch_);
    if (progress_ + goodput * seconds < next) {
      progress_ += goodput * seconds;
      Hold(seconds);
      return;
    }
    // Rounded to whole seconds, half to even, as the reference does.
    const double spent = std::nearbyint((next - progress_) / goodput);
    ++epoch_;
    progress_ = next;
    Hold(spent);
    now_s += spent;
    seconds -= spent;
    if (epoch_ >= spec_->profile->num_epochs()) completion_s_ = now_s;
  }
}

}  // namespace fairlead::sim
