#include "sim/elastic/epoch_run.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fairlead::sim {
namespace {

std::vector<scheduling::JobSize> TrueSizes(const ElasticJobSpec& spec, const ElasticCluster& cluster) {
  std::vector<scheduling::JobSize> sizes;
  const ApplicationProfile& profile = *spec.profile;
  for (const uint32_t k : RunnableGpus(spec, cluster)) {
    if (spec.batch_menus != nullptr) {
      sizes.push_back({k, k * cluster.cores_per_gpu, spec.batch_menus->SecondsOfBest(k, 0)});
      continue;
    }
    const BatchSplit split = SplitBatch(profile.limits(), k, spec.global_batch, SingleGpuRule::kAlways);
    const auto pass = profile.QueryPass(DensePlacement(k, cluster.gpus_per_node), split.local_batch);
    sizes.push_back({k, k * cluster.cores_per_gpu, pass ? IterationSeconds(*pass, split.num_accumulations) : 0});
  }
  return sizes;
}

}  // namespace

std::vector<uint32_t> RunnableGpus(const ElasticJobSpec& spec, const ElasticCluster& cluster) {
  const uint32_t batch = spec.batch_menus != nullptr ? spec.profile->limits().max : spec.global_batch;
  const uint32_t by_batch = std::max(1u, spec.profile->MaxGpus(batch));
  const uint32_t most = std::min(by_batch, std::max(cluster.num_gpus(), spec.requested_gpus));
  std::vector<uint32_t> gpus;
  if (spec.allowed_gpus.empty()) {
    for (uint32_t k = 1; k <= most; ++k) gpus.push_back(k);
    return gpus;
  }
  for (const uint32_t k : spec.allowed_gpus) {
    if (gpus.empty() || k <= most) gpus.push_back(k);
  }
  return gpus;
}

EpochRun::EpochRun(const ElasticJobSpec& spec, const ElasticCluster& cluster)
    : spec_(&spec), gpus_per_node_(cluster.gpus_per_node), sizes_(TrueSizes(spec, cluster)) {
  const auto above = std::ranges::upper_bound(sizes_, spec.requested_gpus, {}, &scheduling::JobSize::num_gpus);
  requested_size_ = static_cast<uint32_t>(std::max<ptrdiff_t>(above - sizes_.begin(), 1) - 1);
}

double EpochRun::done_share() const {
  return progress_ / spec_->profile->ProgressAtEndOf(spec_->profile->num_epochs() - 1);
}

bool EpochRun::is_finished() const { return epoch_ >= spec_->profile->num_epochs(); }

double EpochRun::RemainingIterations() const {
  const ApplicationProfile& profile = *spec_->profile;
  const uint32_t last = profile.num_epochs() - 1;
  if (epoch_ >= last) return 1;
  if (spec_->batch_menus != nullptr) return profile.ProgressAtEndOf(last) - progress_;
  return profile.IterationsAtEndOf(spec_->global_batch, last) - profile.IterationsAtEndOf(spec_->global_batch, epoch_);
}

std::optional<TrainingProgress> EpochRun::ObserveProgress() const {
  const ApplicationProfile& profile = *spec_->profile;
  if (is_finished()) return TrainingProgress{static_cast<double>(profile.num_epochs()), iterations_};
  const double begin = epoch_ == 0 ? 0 : profile.ProgressAtEndOf(epoch_ - 1);
  const double part = (progress_ - begin) / (profile.ProgressAtEndOf(epoch_) - begin);
  return TrainingProgress{epoch_ + part, iterations_};
}

std::optional<double> EpochRun::SecondsAlone() const {
  const ApplicationProfile& profile = *spec_->profile;
  const uint32_t num_gpus = sizes_[requested_size_].num_gpus;
  const BatchSplit split = SplitBatch(profile.limits(), num_gpus, spec_->global_batch, SingleGpuRule::kLargeBatches);
  const auto pass = profile.QueryPass(DensePlacement(num_gpus, gpus_per_node_), split.local_batch);
  if (!pass) return std::nullopt;
  EpochRun fresh = *this;
  fresh.split_ = split;
  fresh.held_ = {num_gpus, 0};
  double seconds = 0;
  double before = 0;
  for (fresh.epoch_ = 0; fresh.epoch_ < profile.num_epochs(); ++fresh.epoch_) {
    const double end = profile.ProgressAtEndOf(fresh.epoch_);
    seconds += (end - before) / fresh.Goodput(IterationSeconds(*pass, split.num_accumulations));
    before = end;
  }
  return seconds;
}

void EpochRun::Place(const Allocation& allocation) {
  placement_.clear();
  held_ = allocation.resources();
  FL_CHECK(held_.num_gpus > 0);
  for (const scheduling::NodeShare& share : allocation.shares) {
    if (share.num_gpus > 0) placement_.push_back(share.num_gpus);
  }
  if (spec_->batch_menus != nullptr) {
    const auto num_gpus = static_cast<uint32_t>(held_.num_gpus);
    const bool is_dense = placement_ == DensePlacement(num_gpus, gpus_per_node_);
    placed_menu_ = is_dense && num_gpus <= spec_->batch_menus->max_gpus() ? spec_->batch_menus->dense(num_gpus)
                                                                          : BatchMenu(*spec_->profile, placement_);
    ChooseBatch();
    if (is_batch_chosen_) return;
  }
  split_ = SplitBatch(spec_->profile->limits(), static_cast<uint32_t>(held_.num_gpus), spec_->global_batch,
                      SingleGpuRule::kLargeBatches);
  pass_ = CurrentPass();
  iteration_s_ = IterationSeconds(pass_, split_.num_accumulations);
}

void EpochRun::ChooseBatch() {
  const auto best = placed_menu_->Best(*spec_->profile, std::min(epoch_, spec_->profile->num_epochs() - 1));
  is_batch_chosen_ = best.has_value();
  if (!best) return;
  split_ = best->option.split;
  pass_ = best->option.pass;
  iteration_s_ = best->option.iteration_s;
}

void EpochRun::BeginEpoch() {
  if (spec_->batch_menus == nullptr || is_finished()) return;
  if (is_batch_chosen_) ChooseBatch();
  for (scheduling::JobSize& size : sizes_) {
    size.iteration_s = spec_->batch_menus->SecondsOfBest(size.num_gpus, epoch_);
  }
}

std::optional<prediction::ReplicaObservation> EpochRun::ObserveReplicas() const {
  prediction::ReplicaObservation observation;
  observation.configuration = {static_cast<double>(held_.num_gpus), static_cast<double>(placement_.size()),
                               static_cast<double>(split_.local_batch), static_cast<double>(split_.num_accumulations)};
  observation.iteration_time = Seconds(pass_.pass_s);
  observation.compute_time = Seconds(pass_.pass_s - pass_.sync_s);
  return observation;
}

PassTime EpochRun::CurrentPass() {
  const ApplicationProfile& profile = *spec_->profile;
  if (const auto pass = profile.QueryPass(placement_, split_.local_batch)) return *pass;
  ++num_unknown_placements_;
  const GpusPerNode dense = DensePlacement(static_cast<uint32_t>(held_.num_gpus), gpus_per_node_);
  if (const auto pass = profile.QueryPass(dense, split_.local_batch)) return *pass;
  // Nothing is known at this size at all: the time of one GPU, as if more did not help.
  const auto alone = profile.QueryPass({1}, std::min(split_.local_batch, profile.limits().local_max));
  FL_CHECK_MSG(alone.has_value(), profile.name() + " has no time for one GPU");
  return *alone;
}

double EpochRun::Goodput(double iteration_s) const {
  const double batch = split_.GlobalBatch(static_cast<uint32_t>(held_.num_gpus));
  const double scale = batch / spec_->profile->limits().first;
  return GainOf(spec_->profile->QueryGradients(batch, epoch_), scale) / iteration_s;
}

BusyResources EpochRun::busy() const {
  return {static_cast<double>(held_.num_gpus), static_cast<double>(held_.num_cores)};
}

double EpochRun::Train(double seconds) {
  double spent = 0;
  while (spent < seconds && !is_finished()) {
    const double left = seconds - spent;
    const double goodput = Goodput(iteration_s_);
    const double next = spec_->profile->ProgressAtEndOf(epoch_);
    if (progress_ + goodput * left < next) {
      progress_ += goodput * left;
      iterations_ += left / iteration_s_;
      return seconds;
    }
    iterations_ += (next - progress_) / goodput / iteration_s_;
    // Rounded to whole seconds, half to even, as the reference does.
    spent += std::nearbyint((next - progress_) / goodput);
    ++epoch_;
    progress_ = next;
    BeginEpoch();
  }
  return spent;
}

}  // namespace fairlead::sim
