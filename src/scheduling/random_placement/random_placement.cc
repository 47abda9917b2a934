#include "scheduling/random_placement/random_placement.h"

#include <algorithm>

#include "base/random.h"

namespace fairlead::scheduling::random_placement {

namespace {

class RandomPlacement final : public PlacementPolicy {
 public:
  explicit RandomPlacement(uint64_t seed) : seed_(seed) {}

  std::string_view name() const override { return "random"; }

  std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const override {
    return Draw(pool, job, CombineHash(seed_, job.id.value()));
  }

  bool OffersSeveral() const override { return true; }

  std::vector<model::Placement> Offer(const ClusterView& cluster, const model::Job& job, uint32_t most) const override {
    std::vector<model::Placement> placements;
    if (auto own = Place(*cluster.pool, job)) placements.push_back(*std::move(own));
    // Some draws repeat others where few hosts have room.
    for (uint32_t k = 1; k < kDrawsPerPlacement * most && !placements.empty() && placements.size() < most; ++k) {
      auto other = Draw(*cluster.pool, job, CombineHash(CombineHash(seed_, job.id.value()), k));
      if (std::ranges::find(placements, *other) == placements.end()) placements.push_back(*std::move(other));
    }
    return placements;
  }

 private:
  static constexpr uint32_t kDrawsPerPlacement = 8;

  static std::optional<model::Placement> Draw(const GpuPool& pool, const model::Job& job, uint64_t seed) {
    std::vector<HostId> usable;
    for (size_t h = 0; h < pool.fabric().num_hosts(); ++h) {
      if (pool.num_free(HostId(h)) >= RanksOnHost(job, 0)) usable.emplace_back(h);
    }
    const uint32_t num_hosts = NumHosts(job);
    if (usable.size() < num_hosts) return std::nullopt;
    Random random(seed);
    random.Shuffle(std::span<HostId>(usable));
    usable.resize(num_hosts);
    return PlaceOnHosts(pool, job, usable);
  }

  uint64_t seed_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> CreateRandomPlacement(uint64_t seed) {
  return std::make_unique<RandomPlacement>(seed);
}

}  // namespace fairlead::scheduling::random_placement
