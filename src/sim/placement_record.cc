#include "sim/placement_record.h"

#include <algorithm>

namespace fairlead::sim {

std::optional<model::Placement> RecordedPlacement::Place(const scheduling::GpuPool& pool, const model::Job& job) const {
  if (auto recalled = Recall(pool, job)) return Note(job, std::move(recalled));
  return Note(job, policy_->Place(pool, job));
}

std::optional<model::Placement> RecordedPlacement::PlaceBeside(const scheduling::ClusterView& cluster,
                                                               const model::Job& job) const {
  if (auto recalled = Recall(*cluster.pool, job)) return Note(job, std::move(recalled));
  return Note(job, policy_->PlaceBeside(cluster, job));
}

std::optional<model::Placement> RecordedPlacement::Recall(const scheduling::GpuPool& pool,
                                                          const model::Job& job) const {
  if (known_ == nullptr) return std::nullopt;
  const auto found = known_->find(job.id);
  if (found == known_->end()) return std::nullopt;
  const model::Placement& placement = found->second;
  const bool is_free =
      std::all_of(placement.gpus.begin(), placement.gpus.end(), [&pool](GpuId gpu) { return pool.is_free(gpu); });
  return is_free ? std::optional(placement) : std::nullopt;
}

std::optional<model::Placement> RecordedPlacement::Note(const model::Job& job,
                                                        std::optional<model::Placement> placement) const {
  if (placement) record_->try_emplace(job.id, *placement);
  return placement;
}

}  // namespace fairlead::sim
