// Where jobs of a run were placed, and the same again: so that a scenario can be played without one of its jobs while
// the others stay where they were.
#pragma once

#include <map>

#include "base/ids.h"
#include "model/job.h"
#include "scheduling/placement_policy.h"

namespace fairlead::sim {

using PlacementBook = std::map<JobId, model::Placement>;  // where each job was placed first

// Places each job as `known` says while those GPUs are free, others as `policy` does, and writes all into `book`.
// Args: known: may be null; book: not null. All must outlive this object. Thread: one at a time.
class BookedPlacement final : public scheduling::PlacementPolicy {
 public:
  BookedPlacement(const scheduling::PlacementPolicy& policy, const PlacementBook* known, PlacementBook* book)
      : policy_(&policy), known_(known), book_(book) {}

  std::string_view name() const override { return policy_->name(); }
  std::optional<model::Placement> Place(const scheduling::GpuPool& pool, const model::Job& job) const override;
  std::optional<model::Placement> PlaceBeside(const scheduling::ClusterView& cluster,
                                              const model::Job& job) const override;

 private:
  // Nothing: the job is not known, or one of its GPUs is taken.
  std::optional<model::Placement> Recall(const scheduling::GpuPool& pool, const model::Job& job) const;
  std::optional<model::Placement> Note(const model::Job& job, std::optional<model::Placement> placement) const;

  const scheduling::PlacementPolicy* policy_;
  const PlacementBook* known_;
  PlacementBook* book_;
};

}  // namespace fairlead::sim
