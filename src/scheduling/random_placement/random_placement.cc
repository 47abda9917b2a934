#include "scheduling/random_placement/random_placement.h"

#include "base/random.h"

namespace fairlead::scheduling::random_placement {

namespace {

class RandomPlacement final : public PlacementPolicy {
 public:
  explicit RandomPlacement(uint64_t seed) : seed_(seed) {}

  std::string_view name() const override { return "random"; }

  std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const override {
    std::vector<HostId> usable;
    for (size_t h = 0; h < pool.fabric().num_hosts(); ++h) {
      if (pool.num_free(HostId(h)) >= RanksOnHost(job, 0)) usable.emplace_back(h);
    }
    const uint32_t num_hosts = NumHosts(job);
    if (usable.size() < num_hosts) return std::nullopt;
    Random random(CombineHash(seed_, job.id.value()));
    random.Shuffle(std::span<HostId>(usable));
    usable.resize(num_hosts);
    return PlaceOnHosts(pool, job, usable);
  }

 private:
  uint64_t seed_;
};

}  // namespace

std::unique_ptr<PlacementPolicy> CreateRandomPlacement(uint64_t seed) {
  return std::make_unique<RandomPlacement>(seed);
}

}  // namespace fairlead::scheduling::random_placement
