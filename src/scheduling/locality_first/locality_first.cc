#include "scheduling/locality_first/locality_first.h"

#include "scheduling/equal_placements.h"
#include "scheduling/host_groups.h"

namespace fairlead::scheduling::locality_first {

namespace {

class LocalityFirst final : public PlacementPolicy {
 public:
  explicit LocalityFirst(uint64_t seed) : seed_(seed) {}

  std::string_view name() const override { return "locality-first"; }

  std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const override {
    if (pool.num_free() < job.num_gpus) return std::nullopt;
    const auto hosts = TakeNearHosts(pool, FindUsableGroups(pool, RanksOnHost(job, 0)), NumHosts(job));
    if (!hosts) return std::nullopt;
    return PlaceOnHosts(pool, job, *hosts);
  }

  bool OffersSeveral() const override { return true; }

  std::vector<model::Placement> Offer(const ClusterView& cluster, const model::Job& job, uint32_t most) const override {
    const std::optional<model::Placement> best = Place(*cluster.pool, job);
    if (!best) return {};
    return DrawEqualPlacements(*cluster.pool, job, *best, most, seed_);
  }

 private:
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> CreateLocalityFirst(uint64_t seed) { return std::make_unique<LocalityFirst>(seed); }

}  // namespace fairlead::scheduling::locality_first
