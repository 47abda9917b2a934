#include "traffic/candidate_finder.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "topology/clos_fabrics.h"

namespace fairlead::traffic {
namespace {

topology::Fabric MakeFabric(const topology::ClosSpec& spec) { return topology::BuildClos(spec).value(); }

// Every flow of a random list gets the router's paths, in the router's order.
void ExpectSameAsRouter(const topology::Fabric& fabric, const topology::Router& router, size_t max_candidates,
                        uint64_t seed) {
  Random random(seed);
  CandidateFinder finder(router, max_candidates);
  const auto num_gpus = static_cast<uint32_t>(fabric.num_gpus());
  for (int i = 0; i < 300; ++i) {
    // Near GPUs often, so that pairs of leaves come back.
    const auto source = static_cast<uint32_t>(random.Below(num_gpus));
    const auto destination = static_cast<uint32_t>((source + 1 + random.Below(num_gpus - 1)) % num_gpus);
    const model::FlowDemand flow{GpuId(source), GpuId(destination), Bytes(1), 0};
    const topology::PathCandidates found = finder.Find(flow);
    std::vector<model::Path> paths;
    for (size_t p = 0; p < found.size(); ++p) paths.push_back(found.Path(p));
    const topology::PathCandidates expected = router.FindCandidates(flow.source, flow.destination, max_candidates);
    ASSERT_EQ(found.num_paths, expected.num_paths);
    ASSERT_EQ(paths.size(), expected.size());
    for (size_t p = 0; p < paths.size(); ++p) {
      EXPECT_EQ(paths[p], expected.Path(p)) << source << " to " << destination << " path " << p;
      EXPECT_EQ(found.PathIndex(p), expected.PathIndex(p));
    }
  }
}

void ExpectSameBeforeAndAfterFailures(const topology::ClosSpec& spec) {
  const topology::Fabric fabric = MakeFabric(spec);
  topology::Router router(fabric);
  for (const size_t max_candidates : {1u, 3u, 128u}) ExpectSameAsRouter(fabric, router, max_candidates, 1);
  topology::LinkHealth health(fabric.num_links(), 1.0);
  Random random(2);
  for (double& link : health) link = random.Uniform() < 0.1 ? 0 : 1;
  router.SetHealth(health);
  for (const size_t max_candidates : {1u, 3u, 128u}) ExpectSameAsRouter(fabric, router, max_candidates, 3);
}

TEST(CandidateFinderTest, TwoLayers) { ExpectSameBeforeAndAfterFailures({.leaves = 4, .spines = 8}); }

// Far more pairs of leaves than the finder keeps.
TEST(CandidateFinderTest, ManyLeaves) {
  ExpectSameBeforeAndAfterFailures({.leaves = 20, .hosts_per_leaf = 1, .spines = 2});
}

TEST(CandidateFinderTest, ThreeLayers) {
  ExpectSameBeforeAndAfterFailures({.pods = 2, .leaves = 3, .hosts_per_leaf = 2, .spines = 4, .cores = 16});
}

TEST(CandidateFinderTest, HostsWithPortsOnTwoLeaves) {
  ExpectSameBeforeAndAfterFailures({.leaves = 4, .hosts_per_leaf = 2, .spines = 4, .double_sided = true});
}

TEST(CandidateFinderTest, OneNicPerHost) {
  topology::ClosSpec spec;
  spec.leaves = 3;
  spec.spines = 4;
  spec.host.nics = 1;
  ExpectSameBeforeAndAfterFailures(spec);
}

}  // namespace
}  // namespace fairlead::traffic
