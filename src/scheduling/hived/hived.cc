#include "scheduling/hived/hived.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "scheduling/hived/buddy_cells.h"

namespace fairlead::scheduling::hived {

namespace {

// Blocks for the job on the hosts that have one, in order of host.
std::vector<FreeBlock> FindBlocks(const GpuPool& pool, uint32_t gpus_per_host) {
  const BuddyCells cells(pool);
  std::vector<FreeBlock> blocks;
  for (size_t h = 0; h < pool.fabric().num_hosts(); ++h) {
    if (auto block = cells.FindBlock(HostId(h), gpus_per_host)) blocks.push_back(*block);
  }
  return blocks;
}

// Any hosts with enough free GPUs, as blocks without a cell; the fullest host is the smallest split.
std::vector<FreeBlock> FindScattered(const GpuPool& pool, uint32_t gpus_per_host) {
  std::vector<FreeBlock> blocks;
  for (size_t h = 0; h < pool.fabric().num_hosts(); ++h) {
    const uint32_t num_free = pool.num_free(HostId(h));
    if (num_free >= gpus_per_host) blocks.push_back({HostId(h), 0, 0, kScatteredLevel + num_free});
  }
  return blocks;
}

// One of the places that could hold a whole job.
struct Unit {
  std::vector<FreeBlock> blocks;
  size_t num_free = 0;  // GPUs
};

// Smallest splits first. Their levels are few: no sorting by comparisons.
void OrderBySplit(std::vector<FreeBlock>& blocks) {
  std::vector<std::vector<FreeBlock>> by_split;
  for (const FreeBlock& block : blocks) {
    if (by_split.size() <= block.split) by_split.resize(block.split + 1);
    by_split[block.split].push_back(block);
  }
  blocks.clear();
  for (const std::vector<FreeBlock>& part : by_split) blocks.insert(blocks.end(), part.begin(), part.end());
}

// The best of the units that hold `num_hosts` blocks, cut to these; empty when there is none.
std::vector<FreeBlock> ChooseUnit(std::vector<Unit> units, size_t num_hosts) {
  Unit* best = nullptr;
  const auto rank = [&](const Unit& unit) { return std::tuple(unit.blocks[num_hosts - 1].split, unit.num_free); };
  for (Unit& unit : units) {
    if (unit.blocks.size() < num_hosts) continue;
    OrderBySplit(unit.blocks);
    if (best == nullptr || rank(unit) < rank(*best)) best = &unit;
  }
  if (best == nullptr) return {};
  best->blocks.resize(num_hosts);
  return std::move(best->blocks);
}

// The blocks by unit; `unit_of(host)` < num_units.
template <class UnitOf>
std::vector<Unit> GroupByUnit(const GpuPool& pool, const std::vector<FreeBlock>& blocks, size_t num_units,
                              UnitOf unit_of) {
  std::vector<Unit> units(num_units);
  for (const FreeBlock& block : blocks) units[unit_of(block.host)].blocks.push_back(block);
  for (size_t h = 0; h < pool.fabric().num_hosts(); ++h) {
    units[unit_of(HostId(h))].num_free += pool.num_free(HostId(h));
  }
  return units;
}

// Blocks on `num_hosts` hosts in the lowest kind of unit that has them; empty when there are too few.
std::vector<FreeBlock> ChooseBlocks(const GpuPool& pool, const std::vector<FreeBlock>& blocks, size_t num_hosts) {
  if (blocks.size() < num_hosts) return {};
  const topology::Fabric& fabric = pool.fabric();
  const auto choose = [&](size_t num_units, auto unit_of) {
    return ChooseUnit(GroupByUnit(pool, blocks, num_units, unit_of), num_hosts);
  };
  std::vector<FreeBlock> chosen;
  if (num_hosts == 1) chosen = choose(fabric.num_hosts(), [](HostId host) { return host.index(); });
  if (chosen.empty()) chosen = choose(fabric.num_leaf_groups(), [&](HostId host) { return fabric.leaf_group(host); });
  if (chosen.empty()) chosen = choose(fabric.num_pods(), [&](HostId host) { return fabric.pod(host); });
  if (chosen.empty()) chosen = choose(1, [](HostId) { return 0; });
  return chosen;
}

// The first free GPUs of the block, or of its host where it has none.
void TakeGpus(const GpuPool& pool, const FreeBlock& block, uint32_t wanted, model::Placement& placement) {
  const topology::Fabric& fabric = pool.fabric();
  const uint32_t size = block.size == 0 ? fabric.num_gpus_of(block.host) : block.size;
  const uint32_t begin = fabric.first_gpu(block.host).value() + block.first;
  for (uint32_t gpu = begin; gpu < begin + size && wanted > 0; ++gpu) {
    if (!pool.is_free(GpuId(gpu))) continue;
    placement.gpus.emplace_back(gpu);
    --wanted;
  }
  FL_CHECK_MSG(wanted == 0, "a free cell holds fewer GPUs than it should");
}

class Hived final : public PlacementPolicy {
 public:
  std::string_view name() const override { return "hived"; }

  std::optional<model::Placement> Place(const GpuPool& pool, const model::Job& job) const override {
    if (pool.num_free() < job.num_gpus) return std::nullopt;
    const uint32_t num_hosts = NumHosts(job);
    const uint32_t gpus_per_host = RanksOnHost(job, 0);
    std::vector<FreeBlock> blocks = ChooseBlocks(pool, FindBlocks(pool, gpus_per_host), num_hosts);
    if (blocks.empty()) blocks = ChooseBlocks(pool, FindScattered(pool, gpus_per_host), num_hosts);
    if (blocks.empty()) return std::nullopt;
    model::Placement placement;
    placement.gpus.reserve(job.num_gpus);
    for (uint32_t i = 0; i < num_hosts; ++i) TakeGpus(pool, blocks[i], RanksOnHost(job, i), placement);
    return placement;
  }
};

}  // namespace

std::unique_ptr<PlacementPolicy> CreateHived() { return std::make_unique<Hived>(); }

}  // namespace fairlead::scheduling::hived
