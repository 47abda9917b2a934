#include "sim/elastic/epoch_run.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fairlead::sim {
namespace {

// Of an iteration at this batch on dense GPUs; 0 = unknown.
double DenseSeconds(const ApplicationProfile& profile, uint32_t gpus_per_node, uint32_t num_gpus, uint32_t batch) {
  const GpusPerNode dense = DensePlacement(num_gpus, gpus_per_node);
  const BatchSplit split = SplitBatch(profile.LimitsOf(dense), num_gpus, batch, SingleGpuRule::kAlways);
  const auto pass = profile.QueryPass(dense, split.local_batch);
  return pass ? IterationSeconds(*pass, split.num_accumulations) : 0;
}

std::vector<scheduling::JobSize> TrueSizes(const ElasticJobSpec& spec, const ElasticCluster& cluster) {
  std::vector<scheduling::JobSize> sizes;
  const ApplicationProfile& profile = *spec.profile;
  for (const uint32_t k : RunnableGpus(spec, cluster)) {
    if (spec.chooses_batch()) {
      const double seconds = spec.batch_menus != nullptr ? spec.batch_menus->SecondsOfBest(k, 0) : 0;
      sizes.push_back({k, k * cluster.cores_per_gpu, seconds});
      continue;
    }
    sizes.push_back({k, k * cluster.cores_per_gpu,
                     DenseSeconds(profile, cluster.groups.front().gpus_per_node, k, spec.global_batch)});
  }
  return sizes;
}

std::vector<double> TrueTypeSpeeds(const ElasticJobSpec& spec, const ElasticCluster& cluster, uint32_t num_gpus) {
  std::vector<double> speeds;
  for (uint32_t t = 0; t < cluster.num_types(); ++t) {
    const ApplicationProfile* profile = spec.ProfileOn(t);
    const bool fits = profile != nullptr && num_gpus <= cluster.groups[t].num_gpus();
    const double seconds =
        fits ? DenseSeconds(*profile, cluster.groups[t].gpus_per_node, num_gpus, spec.global_batch) : 0;
    speeds.push_back(seconds > 0 ? 1 / seconds : 0);
  }
  return speeds;
}

}  // namespace

std::vector<uint32_t> RunnableGpus(const ElasticJobSpec& spec, const ElasticCluster& cluster) {
  const uint32_t batch = spec.chooses_batch() ? spec.profile->limits().max : spec.global_batch;
  const uint32_t by_batch = std::max(1u, spec.profile->MaxGpus(batch));
  const uint32_t most = std::min(by_batch, std::max(cluster.most_gpus_of_type(), spec.requested_gpus));
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
    : spec_(&spec), cluster_(cluster), sizes_(TrueSizes(spec, cluster)), profile_(spec.profile) {
  const auto above = std::ranges::upper_bound(sizes_, spec.requested_gpus, {}, &scheduling::JobSize::num_gpus);
  requested_size_ = static_cast<uint32_t>(std::max<ptrdiff_t>(above - sizes_.begin(), 1) - 1);
  if (cluster.num_types() > 1) type_speeds_ = TrueTypeSpeeds(spec, cluster, sizes_[requested_size_].num_gpus);
  if (spec.fitted == GoodputModels::kNone) return;
  fitted_ = std::make_shared<FittedGoodput>(FittedTypesOf(spec, cluster));
  RefreshGoodput();
}

double EpochRun::done_share() const {
  return progress_ / spec_->profile->ProgressAtEndOf(spec_->profile->num_epochs() - 1);
}

bool EpochRun::is_finished() const { return epoch_ >= spec_->profile->num_epochs(); }

double EpochRun::RemainingIterations() const {
  const ApplicationProfile& profile = *spec_->profile;
  const uint32_t last = profile.num_epochs() - 1;
  if (epoch_ >= last) return 1;
  if (spec_->chooses_batch()) return profile.ProgressAtEndOf(last) - progress_;
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
  const GpusPerNode dense = DensePlacement(num_gpus, cluster_.groups.front().gpus_per_node);
  const BatchSplit split =
      SplitBatch(profile.LimitsOf(dense), num_gpus, spec_->global_batch, SingleGpuRule::kLargeBatches);
  const auto pass = profile.QueryPass(dense, split.local_batch);
  if (!pass) return std::nullopt;
  EpochRun fresh = *this;
  fresh.split_ = split;
  fresh.num_gpus_ = num_gpus;
  fresh.profile_ = &profile;
  double seconds = 0;
  double before = 0;
  for (fresh.epoch_ = 0; fresh.epoch_ < profile.num_epochs(); ++fresh.epoch_) {
    const double end = profile.ProgressAtEndOf(fresh.epoch_);
    seconds += (end - before) / fresh.Goodput(IterationSeconds(*pass, split.num_accumulations));
    before = end;
  }
  return seconds;
}

void EpochRun::ChooseType(const Allocation& allocation) {
  std::vector<uint32_t> gpus(cluster_.num_types());
  for (const scheduling::NodeShare& share : allocation.shares) gpus[cluster_.TypeOf(share.node)] += share.num_gpus;
  gpu_type_ = static_cast<uint32_t>(std::ranges::max_element(gpus) - gpus.begin());
  profile_ = spec_->ProfileOn(gpu_type_);
  num_gpus_ = gpus[gpu_type_];
}

BatchLimits EpochRun::Limits() const { return profile_->LimitsOf(placement_); }

void EpochRun::Place(const Allocation& allocation) {
  placement_.clear();
  held_ = allocation.resources();
  FL_CHECK(held_.num_gpus > 0);
  ChooseType(allocation);
  for (const scheduling::NodeShare& share : allocation.shares) {
    if (share.num_gpus > 0 && cluster_.TypeOf(share.node) == gpu_type_) placement_.push_back(share.num_gpus);
  }
  if (profile_ == nullptr) return;
  if (spec_->batch_menus != nullptr) {
    // Menus are of the first type.
    const bool is_dense = gpu_type_ == 0 && placement_ == DensePlacement(num_gpus_, gpus_per_node());
    placed_menu_ = is_dense && num_gpus_ <= spec_->batch_menus->max_gpus() ? spec_->batch_menus->dense(num_gpus_)
                                                                           : BatchMenu(*profile_, placement_);
  }
  if (spec_->chooses_batch()) {
    ChooseBatch();
    if (is_batch_chosen_) return;
  }
  const BatchLimits limits = Limits();
  const uint32_t batch =
      fitted_ != nullptr ? std::max(limits.first, limits.local_min * num_gpus_) : spec_->global_batch;
  split_ = SplitBatch(limits, num_gpus_, batch, SingleGpuRule::kLargeBatches);
  pass_ = CurrentPass();
  iteration_s_ = IterationSeconds(pass_, split_.num_accumulations);
}

void EpochRun::ChooseBatch() {
  std::optional<BatchOption> chosen;
  if (fitted_ != nullptr) {
    chosen = ChooseFitted();
  } else if (const auto best = placed_menu_->Best(*profile_, std::min(epoch_, profile_->num_epochs() - 1))) {
    chosen = best->option;
  }
  is_batch_chosen_ = chosen.has_value();
  if (!chosen) return;
  split_ = chosen->split;
  pass_ = chosen->pass;
  iteration_s_ = chosen->iteration_s;
}

std::optional<BatchOption> EpochRun::ChooseFitted() const {
  const auto best = fitted_->Best(model_type(), static_cast<uint32_t>(placement_.size()), num_gpus_, Limits());
  if (!best) return std::nullopt;
  const auto pass = profile_->QueryPass(placement_, best->split.local_batch);
  if (!pass) return std::nullopt;
  return BatchOption{best->split, best->split.GlobalBatch(num_gpus_), *pass,
                     IterationSeconds(*pass, best->split.num_accumulations)};
}

void EpochRun::Learn() {
  const double batch = split_.GlobalBatch(num_gpus_);
  if (fitted_->Observe(model_type(), *ObserveReplicas(), profile_->QueryGradients(batch, epoch_))) RefreshGoodput();
}

void EpochRun::RefreshGoodput() {
  type_goodput_.assign(fitted_->num_types(), std::vector<double>(sizes_.size()));
  for (uint32_t t = 0; t < fitted_->num_types(); ++t) {
    for (size_t k = 0; k < sizes_.size(); ++k) type_goodput_[t][k] = fitted_->GoodputOn(t, sizes_[k].num_gpus);
  }
  for (size_t k = 0; k < sizes_.size(); ++k) {
    sizes_[k].iteration_s = type_goodput_[0][k] > 0 ? 1 / type_goodput_[0][k] : 0;
  }
  if (spec_->fitted == GoodputModels::kBlind) type_goodput_.clear();
}

void EpochRun::BeginEpoch() {
  if (is_finished()) return;
  if (fitted_ != nullptr) ChooseBatch();
  if (spec_->batch_menus == nullptr) return;
  if (is_batch_chosen_) ChooseBatch();
  for (scheduling::JobSize& size : sizes_) {
    size.iteration_s = spec_->batch_menus->SecondsOfBest(size.num_gpus, epoch_);
  }
}

std::optional<prediction::ReplicaObservation> EpochRun::ObserveReplicas() const {
  prediction::ReplicaObservation observation;
  observation.configuration = {static_cast<double>(num_gpus_), static_cast<double>(placement_.size()),
                               static_cast<double>(split_.local_batch), static_cast<double>(split_.num_accumulations)};
  observation.iteration_time = Seconds(pass_.pass_s);
  observation.compute_time = Seconds(pass_.pass_s - pass_.sync_s);
  return observation;
}

PassTime EpochRun::CurrentPass() {
  const ApplicationProfile& profile = *profile_;
  if (const auto pass = profile.QueryPass(placement_, split_.local_batch)) return *pass;
  ++num_unknown_placements_;
  const GpusPerNode dense = DensePlacement(num_gpus_, gpus_per_node());
  if (const auto pass = profile.QueryPass(dense, split_.local_batch)) return *pass;
  // Nothing is known at this size at all: the time of one GPU, as if more did not help.
  const auto alone = profile.QueryPass({1}, std::min(split_.local_batch, profile.limits().local_max));
  FL_CHECK_MSG(alone.has_value(), profile.name() + " has no time for one GPU");
  return *alone;
}

double EpochRun::Goodput(double iteration_s) const {
  const double batch = split_.GlobalBatch(num_gpus_);
  const double scale = batch / profile_->limits().first;
  return GainOf(profile_->QueryGradients(batch, epoch_), scale) / (iteration_s * spec_->slowdown);
}

BusyResources EpochRun::busy() const {
  return {static_cast<double>(held_.num_gpus), static_cast<double>(held_.num_cores)};
}

double EpochRun::Train(double seconds) {
  if (profile_ == nullptr) return seconds;
  double spent = 0;
  while (spent < seconds && !is_finished()) {
    const double left = seconds - spent;
    if (fitted_ != nullptr) Learn();
    const double goodput = Goodput(iteration_s_);
    const double next = spec_->profile->ProgressAtEndOf(epoch_);
    if (progress_ + goodput * left < next) {
      progress_ += goodput * left;
      iterations_ += left / (iteration_s_ * spec_->slowdown);
      if (fitted_ != nullptr) ChooseBatch();
      return seconds;
    }
    iterations_ += (next - progress_) / goodput / (iteration_s_ * spec_->slowdown);
    // Rounded to whole seconds, half to even, as the reference does.
    spent += std::nearbyint((next - progress_) / goodput);
    ++epoch_;
    progress_ = next;
    BeginEpoch();
  }
  return spent;
}

}  // namespace fairlead::sim
