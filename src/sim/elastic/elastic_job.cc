#include "sim/elastic/elastic_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/random.h"
#include "sim/elastic/epoch_run.h"
#include "sim/elastic/ps_worker_run.h"
#include "sim/elastic/workload_draws.h"

namespace fairlead::sim {
namespace {

// exp(sigma * N(0, 1))
double DrawFactor(double sigma, uint64_t seed) {
  if (sigma <= 0) return 1;
  Random random(seed);
  return std::exp(DrawNormal(sigma, &random));
}

std::unique_ptr<TrainingRun> BeginRun(const ElasticJobSpec& spec, const ElasticCluster& cluster) {
  if (spec.ps_application != nullptr) return std::make_unique<PsWorkerRun>(spec);
  return std::make_unique<EpochRun>(spec, cluster);
}

}  // namespace

uint32_t ElasticCluster::num_nodes() const {
  uint32_t sum = 0;
  for (const NodeGroup& group : groups) sum += group.num_nodes;
  return sum;
}

uint32_t ElasticCluster::num_gpus() const {
  uint32_t sum = 0;
  for (const NodeGroup& group : groups) sum += group.num_gpus();
  return sum;
}

uint32_t ElasticCluster::most_gpus_of_type() const {
  uint32_t most = 0;
  for (const NodeGroup& group : groups) most = std::max(most, group.num_gpus());
  return most;
}

uint32_t ElasticCluster::TypeOf(HostId node) const {
  size_t first = 0;
  for (uint32_t type = 0; type < groups.size(); ++type) {
    first += groups[type].num_nodes;
    if (node.index() < first) return type;
  }
  FL_CHECK_MSG(false, "a node outside the cluster");
  return 0;
}

scheduling::NodeCapacity ElasticCluster::CapacityOf(HostId node) const {
  const uint32_t type = TypeOf(node);
  return {groups[type].gpus_per_node, cores_per_node, type};
}

Status ElasticCluster::Validate() const {
  for (const NodeGroup& group : groups) {
    if (group.num_nodes > 0 && group.gpus_per_node > 0) continue;
    return InvalidArgument(fmt::format("cluster: {} nodes of {} GPUs; expected at least one of each", group.num_nodes,
                                       group.gpus_per_node));
  }
  if (groups.empty()) return InvalidArgument("cluster: no nodes; expected at least one group of them");
  if (cores_per_gpu <= cores_per_node) return OkStatus();
  return InvalidArgument(
      fmt::format("cluster: a GPU needs {} cores, but its node has {}", cores_per_gpu, cores_per_node));
}

scheduling::Resources Allocation::resources() const {
  scheduling::Resources sum;
  for (const scheduling::NodeShare& share : shares) sum = sum + scheduling::Resources{share.num_gpus, share.num_cores};
  return sum;
}

ElasticJob::ElasticJob(const ElasticJobSpec& spec, const ElasticCluster& cluster, const PredictionErrors& errors,
                       uint32_t index)
    : spec_(&spec),
      run_(BeginRun(spec, cluster)),
      checkpoint_(run_->Clone()),
      remaining_factor_(DrawFactor(errors.remaining_sigma, CombineHash(errors.seed, index))),
      sizes_(run_->sizes()) {
  for (size_t k = 0; k < sizes_.size(); ++k) {
    const uint64_t seed = CombineHash(CombineHash(errors.seed, index), k + 1);
    speed_factors_.push_back(DrawFactor(errors.speed_sigma, seed));
    sizes_[k].iteration_s *= speed_factors_[k];
  }
}

bool ElasticJob::is_predictable() const {
  return spec_->predictable_after && run_->done_share() >= *spec_->predictable_after;
}

double ElasticJob::PredictRemainingIterations() const { return remaining_factor_ * run_->RemainingIterations(); }

void ElasticJob::Reallocate(Allocation allocation, double restart_s) {
  allocation_ = std::move(allocation);
  Checkpoint();
  if (!is_running()) return;
  restart_left_s_ = restart_s;
  num_restarts_ = num_restarts_ ? *num_restarts_ + 1 : 0;
  run_->Place(allocation_);
}

void ElasticJob::LoseNode() {
  lost_gpu_s_ += since_checkpoint_s_ * static_cast<double>(allocation_.resources().num_gpus);
  allocation_ = {};
  run_ = checkpoint_->Clone();
  since_checkpoint_s_ = 0;
}

void ElasticJob::Checkpoint() {
  checkpoint_ = run_->Clone();
  since_checkpoint_s_ = 0;
}

void ElasticJob::Hold(double seconds) {
  const scheduling::Resources held = allocation_.resources();
  attained_gpu_s_ += seconds * static_cast<double>(held.num_gpus);
  attained_core_s_ += seconds * static_cast<double>(held.num_cores);
  executed_s_ += seconds;
}

void ElasticJob::Advance(double now_s, double seconds, double checkpoint_s) {
  if (!is_running() || is_finished()) return;
  const double delay = std::min(restart_left_s_, seconds);
  Hold(delay);
  // The first start is no loss: every policy has it.
  if (num_restarts() > 0) lost_gpu_s_ += delay * static_cast<double>(allocation_.resources().num_gpus);
  restart_left_s_ -= delay;
  if (seconds <= delay) return;
  const double trained = run_->Train(seconds - delay);
  Hold(trained);
  const BusyResources busy = run_->busy();
  busy_s_.gpus += busy.gpus * trained;
  busy_s_.cores += busy.cores * trained;
  if (run_->is_finished()) completion_s_ = now_s + delay + trained;
  if (spec_->chooses_batch()) {
    for (size_t k = 0; k < sizes_.size(); ++k) sizes_[k].iteration_s = speed_factors_[k] * run_->sizes()[k].iteration_s;
  }
  since_checkpoint_s_ += trained;
  if (since_checkpoint_s_ >= checkpoint_s) Checkpoint();
}

}  // namespace fairlead::sim
