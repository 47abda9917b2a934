#include "topology/network_routes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

// Four segments of eight rails: 32 classes of NICs, 64 leaves and 4 spines, 68 * 16 bytes per table.
Fabric ThirtyTwoClasses() { return BuildRail({.segments = 4, .hosts_per_segment = 2, .spines = 2}).value(); }

// The cache fills to its limit and stays there, and what it holds makes no difference to the answers.
TEST(NetworkRoutesTest, CacheIsBoundedAndInvisible) {
  const Fabric fabric = ThirtyTwoClasses();
  const std::vector<uint8_t> is_up(fabric.num_links(), 1);
  NetworkRoutes unbounded(fabric, is_up, 1u << 20);
  for (const size_t num_tables : {1u, 3u, 32u}) {
    NetworkRoutes routes(fabric, is_up, num_tables * 68 * 16);
    EXPECT_EQ(routes.max_tables(), num_tables);
    Random random(num_tables);
    size_t most = 0;
    for (int i = 0; i < 1000; ++i) {
      const NicId source(random.Below(fabric.num_nics()));
      const NicId destination(random.Below(fabric.num_nics()));
      if (source == destination) continue;
      ASSERT_EQ(routes.Count(source, destination), unbounded.Count(source, destination));
      most = std::max(most, routes.CountTables());
      ASSERT_LE(routes.CountTables(), num_tables);
    }
    EXPECT_EQ(most, num_tables);
    EXPECT_EQ(routes.CountTables(), num_tables) << "and does not shrink again";
  }
  EXPECT_EQ(NetworkRoutes(fabric, is_up, 0).max_tables(), 1u);
}

// NICs of one rail and segment share a table; another rail or segment has its own.
TEST(NetworkRoutesTest, NicsOfTheSameLeavesShareATable) {
  const Fabric fabric = ThirtyTwoClasses();
  const std::vector<uint8_t> is_up(fabric.num_links(), 1);
  NetworkRoutes routes(fabric, is_up, 1u << 20);
  routes.Count(NicId(40), NicId(0));
  routes.Count(NicId(40), NicId(8));  // host 1, the other one on the leaves of rail 0
  EXPECT_EQ(routes.CountTables(), 1u);
  routes.Count(NicId(40), NicId(1));
  EXPECT_EQ(routes.CountTables(), 2u);
  routes.Count(NicId(40), NicId(16));
  EXPECT_EQ(routes.CountTables(), 3u);
  routes.Reset();
  EXPECT_EQ(routes.CountTables(), 0u);
}

}  // namespace
}  // namespace fairlead::topology
