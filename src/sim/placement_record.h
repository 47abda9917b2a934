// Places of the jobs of a run, to repeat them: so that a scenario can be simulated without one of its jobs while the
// others stay where they were.
#pragma once

#include <map>

#include "base/ids.h"
#include "model/job.h"
#include "scheduling/placement_policy.h"

namespace fairlead::sim {

using PlacementRecord = std::map<JobId, model::Placement>;  // where each job was placed first

// Places each job as `known` says while those GPUs are free, others as `policy` does, and writes all into `record`.
// Args: known: may be null; record: not null. All must outlive this object. Thread: one at a time.
class RecordedPlacement final : public scheduling::PlacementPolicy {
 public:
  RecordedPlacement(const scheduling::PlacementPolicy& policy, const PlacementRecord* known, PlacementRecord* record)
      : policy_(&policy), known_(known), record_(record) {}

  std::string_view name() const override { return policy_->name(); }
  std::optional<model::Placement> Place(const scheduling::GpuPool& pool, const model::Job& job) const override;
  std::optional<model::Placement> PlaceBeside(const scheduling::ClusterView& cluster,
                                              const model::Job& job) const override;

 private:
  // Nothing: the job is not known, or one of its GPUs is taken.
  std::optional<model::Placement> Recall(const scheduling::GpuPool& pool, const model::Job& job) const;
  std::optional<model::Placement> Note(const model::Job& job, std::optional<model::Placement> placement) const;

  const scheduling::PlacementPolicy* policy_;
  const PlacementRecord* known_;
  PlacementRecord* record_;
};

}  // namespace fairlead::sim
