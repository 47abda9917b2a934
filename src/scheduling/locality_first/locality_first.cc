#include "scheduling/locality_first/locality_first.h"

#include "scheduling/host_groups.h"

namespace fairlead::scheduling::locality_first {

namespace {

class LocalityFirst final : public PlacementPolicy {
 public:
  std::string_view name() const override { return "locality-first"; }

  std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const override {
    if (pool.num_free() < job.num_gpus) return std::nullopt;
    const auto hosts = TakeNearHosts(pool, FindUsableGroups(pool, RanksOnHost(job, 0)), NumHosts(job));
    if (!hosts) return std::nullopt;
    return PlaceOnHosts(pool, job, *hosts);
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> CreateLocalityFirst() { return std::make_unique<LocalityFirst>(); }

}  // namespace fairlead::scheduling::locality_first
