#include "scheduling/hived/hived.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "scheduling/placement_example.h"

namespace fairlead::scheduling {
namespace {

// A cell as the definition has it: all of its GPUs, and the cell it is a half or a member of.
struct Cell {
  std::vector<uint32_t> gpus;
  int parent = -1;
};

// Every cell of TwoPods(), parents first: cluster, pods of 64 GPUs, leaves of 16, hosts of 8, blocks of 4, 2, 1.
std::vector<Cell> AllCells() {
  std::vector<Cell> cells;
  for (const uint32_t size : {128u, 64u, 16u, 8u, 4u, 2u, 1u}) {
    const size_t num_before = cells.size();
    for (uint32_t first = 0; first < 128; first += size) {
      Cell cell;
      for (uint32_t gpu = first; gpu < first + size; ++gpu) cell.gpus.push_back(gpu);
      for (size_t other = 0; other < num_before; ++other) {
        const auto& outer = cells[other].gpus;
        if (outer.front() <= first && first + size - 1 <= outer.back()) cell.parent = static_cast<int>(other);
      }
      cells.push_back(std::move(cell));
    }
  }
  return cells;
}

class CellOracle {
 public:
  explicit CellOracle(const GpuPool& pool) : cells_(AllCells()) {
    for (const Cell& cell : cells_) {
      is_free_.push_back(
          std::all_of(cell.gpus.begin(), cell.gpus.end(), [&](uint32_t g) { return pool.is_free(GpuId(g)); }));
    }
  }

  // GPUs in the largest free cell around this GPU that is at least `size`; 0 where there is none.
  size_t MaximalAround(uint32_t gpu, size_t size) const {
    size_t best = 0;
    for (size_t c = 0; c < cells_.size(); ++c) {
      const auto& gpus = cells_[c].gpus;
      if (is_free_[c] && gpus.size() >= size && gpus.front() <= gpu && gpu <= gpus.back()) {
        best = std::max(best, gpus.size());
      }
    }
    return best;
  }

  // The least maximal free cell that holds `size` GPUs on one host.
  size_t LeastSplit(size_t size) const {
    size_t least = 0;
    for (uint32_t gpu = 0; gpu < 128; ++gpu) {
      const size_t around = MaximalAround(gpu, size);
      if (around != 0 && (least == 0 || around < least)) least = around;
    }
    return least;
  }

 private:
  std::vector<Cell> cells_;
  std::vector<bool> is_free_;
};

uint32_t CellSize(uint32_t gpus) {
  uint32_t size = 1;
  while (size < gpus) size *= 2;
  return size;
}

GpuPool RandomPool(const topology::Fabric& fabric, Random& random, uint64_t percent_taken) {
  GpuPool pool(fabric);
  model::Placement taken;
  for (uint32_t gpu = 0; gpu < 128; ++gpu) {
    if (random.Below(100) < percent_taken) taken.gpus.emplace_back(gpu);
  }
  pool.Take(taken);
  return pool;
}

// Against every possible cell: the cell that is split is the smallest free one that is large enough, and the job is at
// the start of an aligned block of the size it needs.
TEST(HivedTest, SplitsTheSmallestFreeCellThatHoldsAJobOfOneHost) {
  const topology::Fabric fabric = TwoPods();
  Random random(1);
  int with_cell = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    const GpuPool pool = RandomPool(fabric, random, random.Below(80));
    const auto gpus = static_cast<uint32_t>(1 + random.Below(8));
    const auto placement = Create("hived")->Place(pool, JobOf(0, gpus));
    const CellOracle oracle(pool);
    const uint32_t size = CellSize(gpus);
    const size_t least = oracle.LeastSplit(size);
    if (least == 0) continue;  // scattered GPUs only
    ++with_cell;
    ASSERT_TRUE(placement.has_value());
    const uint32_t first = placement->gpus.front().value();
    ASSERT_EQ(first % size, 0u);
    for (uint32_t i = 0; i < gpus; ++i) ASSERT_EQ(placement->gpus[i].value(), first + i);
    ASSERT_EQ(oracle.MaximalAround(first, size), least);
  }
  EXPECT_GT(with_cell, 500);
}

TEST(HivedTest, BuddiesMergeWhenBothAreFree) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  const auto policy = Create("hived");
  const auto a = policy->Place(pool, JobOf(0, 2));  // GPUs 0, 1 of host 0
  pool.Take(*a);
  const auto b = policy->Place(pool, JobOf(1, 2));  // their buddies: the free pair is the smallest cell
  pool.Take(*b);
  EXPECT_EQ(b->gpus, (std::vector<GpuId>{GpuId(2u), GpuId(3u)}));
  pool.Release(*a);
  // Pair 0-1 is free, and no pair joins it: a job of 2 goes there, one of 4 to the other half of the host.
  EXPECT_EQ(policy->Place(pool, JobOf(2, 2))->gpus[0], GpuId(0u));
  EXPECT_EQ(policy->Place(pool, JobOf(2, 4))->gpus[0], GpuId(4u));
  pool.Release(*b);
  EXPECT_EQ(policy->Place(pool, JobOf(2, 4))->gpus[0], GpuId(0u)) << "the host is whole again";
}

TEST(HivedTest, AJobOfSeveralHostsStaysInTheSmallestCellAndBreaksTheSmallestOne) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  const auto policy = Create("hived");
  pool.Take(PlaceOnHosts(pool, JobOf(0, 8), {HostId(0)}));
  // Leaf 0 has one free host. Two hosts: a whole leaf, of the pod that is broken already.
  const auto two = policy->Place(pool, JobOf(1, 16));
  EXPECT_EQ(LeafGroups(fabric, *two).size(), 1u);
  EXPECT_EQ(Pods(fabric, *two), (std::set<uint32_t>{0}));
  // One host: the free one of leaf 0.
  EXPECT_EQ(fabric.host_of(policy->Place(pool, JobOf(2, 8))->gpus[0]), HostId(1));
  // Three hosts: pod 0, with the single host first.
  const auto three = policy->Place(pool, JobOf(3, 24));
  EXPECT_EQ(Pods(fabric, *three), (std::set<uint32_t>{0}));
  EXPECT_EQ(fabric.host_of(three->gpus[0]), HostId(1));
  // Eight hosts: only pod 1 is whole. Nine: more than a pod.
  EXPECT_EQ(Pods(fabric, *policy->Place(pool, JobOf(4, 64))), (std::set<uint32_t>{1}));
  EXPECT_EQ(Pods(fabric, *policy->Place(pool, JobOf(5, 72))).size(), 2u);
}

TEST(HivedTest, ScatteredGpusAreTheLastResort) {
  const topology::Fabric fabric = TwoPods();
  GpuPool pool(fabric);
  model::Placement odd;  // of every pair one GPU, but host 3 loses its first five only
  for (uint32_t gpu = 0; gpu < 128; ++gpu) {
    const bool on_host_3 = gpu / 8 == 3;
    if (on_host_3 ? gpu % 8 < 5 : gpu % 2 == 1) odd.gpus.emplace_back(gpu);
  }
  pool.Take(odd);
  EXPECT_EQ(Create("hived")->Place(pool, JobOf(0, 2))->gpus, (std::vector<GpuId>{GpuId(30u), GpuId(31u)}));
  // No block of four is free anywhere: host 3 has too few, host 0 has four single ones.
  const auto four = Create("hived")->Place(pool, JobOf(1, 4));
  EXPECT_EQ(four->gpus, (std::vector<GpuId>{GpuId(0u), GpuId(2u), GpuId(4u), GpuId(6u)}));
}

// Hosts of six GPUs: a block of four and one of two; five or six need the whole host.
TEST(HivedTest, HostsNeedNotBePowersOfTwo) {
  topology::ClosSpec spec;
  spec.leaves = 1;
  spec.hosts_per_leaf = 2;
  spec.spines = 1;
  spec.host.gpus = 6;
  spec.host.nics = 1;
  const auto fabric = topology::BuildClos(spec);
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  GpuPool pool(*fabric);
  const auto policy = Create("hived");
  pool.Take(*policy->Place(pool, JobOf(0, 3)));                        // 0, 1, 2 of the block 0-3
  EXPECT_EQ(policy->Place(pool, JobOf(1, 1))->gpus[0], GpuId(3u));     // the single one left
  EXPECT_EQ(policy->Place(pool, JobOf(1, 2))->gpus[0], GpuId(4u));     // the pair
  EXPECT_EQ(policy->Place(pool, JobOf(1, 5, 5))->gpus[0], GpuId(6u));  // host 1
  EXPECT_EQ(policy->Place(pool, JobOf(1, 4))->gpus.front(), GpuId(6u));
}

// Free GPUs in whole free hosts after long churn of small jobs, summed over seeds.
uint64_t WholeHostsAfterChurn(std::string_view name) {
  const topology::Fabric fabric = TwoPods();
  uint64_t whole = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    GpuPool pool(fabric);
    Random random(seed);
    const auto policy = Create(name, seed);
    std::vector<model::Placement> running;
    for (uint32_t step = 0; step < 400; ++step) {
      // About half full: arrivals above 64 GPUs in use are turned away.
      const uint32_t gpus = 1u << random.Below(3);
      const auto placement = policy->Place(pool, JobOf(step, gpus));
      if (pool.num_free() > 64 && placement) {
        pool.Take(*placement);
        running.push_back(*placement);
      } else if (!running.empty()) {
        const size_t victim = random.Below(running.size());
        pool.Release(running[victim]);
        running.erase(running.begin() + static_cast<ptrdiff_t>(victim));
      }
    }
    for (size_t h = 0; h < fabric.num_hosts(); ++h) whole += pool.num_free(HostId(h)) == 8 ? 1 : 0;
  }
  return whole;
}

TEST(HivedTest, LeavesMoreWholeHostsThanRandomPlacement) {
  const uint64_t hived = WholeHostsAfterChurn("hived");
  const uint64_t random = WholeHostsAfterChurn("random");
  EXPECT_GT(hived, 2 * random) << "of 320 hosts";
}

}  // namespace
}  // namespace fairlead::scheduling
