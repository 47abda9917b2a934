#include "sim/placement_record.h"

#include <algorithm>

namespace fairlead::sim {

std::optional<model::Placement> RecalledPlacement::Place(const scheduling::GpuPool& pool, const model::Job& job) const {
  if (auto recalled = Recall(pool, job)) return recalled;
  return policy_->Place(pool, job);
}

std::optional<model::Placement> RecalledPlacement::PlaceBeside(const scheduling::ClusterView& cluster,
                                                               const model::Job& job) const {
  if (auto recalled = Recall(*cluster.pool, job)) return recalled;
  return policy_->PlaceBeside(cluster, job);
}

std::vector<model::Placement> RecalledPlacement::Offer(const scheduling::ClusterView& cluster, const model::Job& job,
                                                       uint32_t most) const {
  if (auto recalled = Recall(*cluster.pool, job)) return {*std::move(recalled)};
  return policy_->Offer(cluster, job, most);
}

std::optional<model::Placement> RecalledPlacement::Recall(const scheduling::GpuPool& pool,
                                                          const model::Job& job) const {
  if (known_ == nullptr) return std::nullopt;
  const auto found = known_->find(job.id);
  if (found == known_->end()) return std::nullopt;
  const model::Placement& placement = found->second;
  const bool is_free =
      std::all_of(placement.gpus.begin(), placement.gpus.end(), [&pool](GpuId gpu) { return pool.is_free(gpu); });
  return is_free ? std::optional(placement) : std::nullopt;
}

}  // namespace fairlead::sim
