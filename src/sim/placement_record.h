// Places of the jobs of a run, to repeat them: so that a scenario can be simulated without one of its jobs while the
// others stay where they were.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "model/job.h"
#include "scheduling/placement_policy.h"

namespace fairlead::sim {

using PlacementRecord = std::map<JobId, model::Placement>;  // where each job was placed first

// Places each job as `known` says while those GPUs are free, others as `policy` does.
// Args: known: may be null. Both must outlive this object.
class RecalledPlacement final : public scheduling::PlacementPolicy {
 public:
  RecalledPlacement(const scheduling::PlacementPolicy& policy, const PlacementRecord* known)
      : policy_(&policy), known_(known) {}

  std::string_view name() const override { return policy_->name(); }
  std::optional<model::Placement> Place(const scheduling::GpuPool& pool, const model::Job& job) const override;
  std::optional<model::Placement> PlaceBeside(const scheduling::ClusterView& cluster,
                                              const model::Job& job) const override;
  bool OffersSeveral() const override { return policy_->OffersSeveral(); }
  // Nothing else is offered for a job that is known.
  std::vector<model::Placement> Offer(const scheduling::ClusterView& cluster, const model::Job& job,
                                      uint32_t most) const override;

 private:
  // Nothing: the job is not known, or one of its GPUs is taken.
  std::optional<model::Placement> Recall(const scheduling::GpuPool& pool, const model::Job& job) const;

  const scheduling::PlacementPolicy* policy_;
  const PlacementRecord* known_;
};

}  // namespace fairlead::sim
