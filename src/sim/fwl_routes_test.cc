#include "sim/fwl_routes.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "fluid/max_min_reference.h"

namespace fairlead::sim {
namespace {

FwlWorkload WorkloadOf(uint32_t num_links, const std::vector<std::vector<uint32_t>>& routes) {
  FwlWorkload workload;
  workload.num_links = num_links;
  workload.capacity = 100;
  for (const std::vector<uint32_t>& route : routes) {
    workload.flows.push_back({.bytes = 1,
                              .first_link = static_cast<uint32_t>(workload.route_links.size()),
                              .num_links = static_cast<uint32_t>(route.size())});
    workload.route_links.insert(workload.route_links.end(), route.begin(), route.end());
  }
  return workload;
}

TEST(FwlRoutesTest, KeepsSharedLinksAndOnePrivateLinkWhereNothingImpliesIt) {
  // Flow 0: links 0 (private), 1 (shared). Flow 1: link 1. Flow 2: links 2 and 3, both private: one is enough.
  const FwlWorkload workload = WorkloadOf(4, {{0, 1}, {1}, {2, 3}});
  const std::vector<FwlFlowRange> ranges = {{0, 1}, {1, 1}, {2, 1}};
  const FwlRoutes routes = PlanFwlRoutes(workload, ranges);
  EXPECT_EQ(routes.num_links, 2u);
  for (size_t r = 0; r < 3; ++r) EXPECT_EQ(routes.RouteOf(r).size(), 1u);
  EXPECT_EQ(routes.RouteOf(0)[0].link, routes.RouteOf(1)[0].link);
}

TEST(FwlRoutesTest, APrivateLinkCrossedMoreOftenStays) {
  // A ring of two flows crosses link 0 twice and link 1 once; link 1 is shared, but only link 0 says 2 x rate <= C.
  const FwlWorkload workload = WorkloadOf(2, {{0, 1}, {0}, {1}});
  const std::vector<FwlFlowRange> ranges = {{0, 2}, {2, 1}};
  EXPECT_EQ(PlanFwlRoutes(workload, ranges).RouteOf(0).size(), 2u);
}

TEST(FwlRoutesTest, LeavesEveryRateAsItWas) {
  Random random(9);
  for (int round = 0; round < 2000; ++round) {
    const auto num_links = static_cast<uint32_t>(2 + random.Below(12));
    std::vector<std::vector<uint32_t>> flow_routes(1 + random.Below(10));
    for (std::vector<uint32_t>& route : flow_routes) {
      for (uint64_t l = 1 + random.Below(4); l > 0; --l)
        route.push_back(static_cast<uint32_t>(random.Below(num_links)));
    }
    const FwlWorkload workload = WorkloadOf(num_links, flow_routes);
    std::vector<FwlFlowRange> ranges;
    for (uint32_t f = 0; f < flow_routes.size(); f += ranges.back().count) {
      ranges.push_back({f, static_cast<uint32_t>(1 + random.Below(std::min<uint64_t>(3, flow_routes.size() - f)))});
    }
    const FwlRoutes routes = PlanFwlRoutes(workload, ranges);

    std::vector<fluid::ReferenceFlow> all(ranges.size()), pruned(ranges.size());
    for (size_t r = 0; r < ranges.size(); ++r) {
      for (uint32_t f = ranges[r].first; f < ranges[r].first + ranges[r].count; ++f) {
        for (uint32_t link : flow_routes[f]) all[r].route.push_back({link, 1});
      }
      pruned[r].route.assign(routes.RouteOf(r).begin(), routes.RouteOf(r).end());
      ASSERT_FALSE(pruned[r].route.empty());
    }
    const auto expected = fluid::ComputeMaxMinReference(std::vector<double>(num_links, 100.0), all);
    const auto actual = fluid::ComputeMaxMinReference(std::vector<double>(routes.num_links, 100.0), pruned);
    for (size_t r = 0; r < ranges.size(); ++r) ASSERT_NEAR(actual[r], expected[r], 1e-9 * expected[r]) << round;
  }
}

}  // namespace
}  // namespace fairlead::sim
