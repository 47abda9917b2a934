// Laws of the ECMP hash: flows spread over paths like balls thrown into bins, independently at every switch.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"
#include "topology/router.h"

namespace fairlead::topology {
namespace {

using model::FiveTuple;
using model::Path;

FiveTuple TupleOf(uint32_t flow) {
  return {.source_address = 0x0a000001,
          .destination_address = 0x0a000102,
          .source_port = static_cast<uint16_t>(49152 + flow)};
}

Path EcmpPath(const Router& router, GpuId source, GpuId destination, const FiveTuple& tuple, uint64_t seed) {
  Path path;
  EXPECT_TRUE(router.AppendEcmpPath(source, destination, tuple, seed, &path));
  return path;
}

double ChiSquare(const std::vector<int>& counts) {
  const double mean = std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
  double sum = 0;
  for (const int count : counts) sum += (count - mean) * (count - mean) / mean;
  return sum;
}

HostSpec OneNicHost() {
  HostSpec host;
  host.gpus = 1;
  host.nics = 1;
  return host;
}

// Two leaves, eight spines, one port: eight paths.
Fabric EightPaths() { return BuildClos({.leaves = 2, .hosts_per_leaf = 1, .spines = 8, .host = OneNicHost()}).value(); }

// n flows over m paths use m (1 - (1 - 1/m)^n) distinct ones on average: 8 over 8 -> 8 (1 - (7/8)^8) = 5.2511; all
// distinct with probability 8!/8^8 = 0.24033 %. The count of distinct paths has a standard deviation of about 0.9, so
// over 40,000 trials its mean has 0.0045; the number of trials with all distinct is 96.1 +- 9.8.
TEST(EcmpTest, EightFlowsOverEightPathsCollideAsThrownBalls) {
  const Fabric fabric = EightPaths();
  const Router router(fabric);
  constexpr int kTrials = 40'000;
  uint64_t num_distinct = 0;
  int num_all_distinct = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::set<Path> paths;
    for (uint32_t flow = 0; flow < 8; ++flow) {
      paths.insert(EcmpPath(router, GpuId(0), GpuId(1), TupleOf(flow), static_cast<uint64_t>(trial)));
    }
    num_distinct += paths.size();
    num_all_distinct += paths.size() == 8 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(num_distinct) / kTrials, 5.2511, 0.018);  // four standard errors
  EXPECT_NEAR(num_all_distinct, 96.1, 39);                                  // four standard deviations
}

// The same law over source ports under one seed, which is what a job with several QPs sees.
TEST(EcmpTest, SourcePortsSpreadLikeThrownBalls) {
  const Fabric fabric = EightPaths();
  const Router router(fabric);
  uint64_t num_distinct = 0;
  constexpr uint32_t kGroups = 2000;  // of 8 consecutive ports; 16,000 of the 16,384 in the RoCE range
  for (uint32_t group = 0; group < kGroups; ++group) {
    std::set<Path> paths;
    for (uint32_t flow = 0; flow < 8; ++flow) {
      paths.insert(EcmpPath(router, GpuId(0), GpuId(1), TupleOf(8 * group + flow), 1));
    }
    num_distinct += paths.size();
  }
  EXPECT_NEAR(static_cast<double>(num_distinct) / kGroups, 5.2511, 0.08);  // 0.9 / sqrt(2000) = 0.02
}

// Leaf and spine choose one of eight each: 64 equally likely paths. If the spine reused the leaf's hash (polarization),
// only 8 of them would occur and chi-square would be 7 n. 63 degrees of freedom: 99.99 % of fair samples lie below
// 113.5.
TEST(EcmpTest, LayersChooseIndependentlyAndUniformly) {
  const Fabric fabric =
      BuildClos({.pods = 2, .leaves = 1, .hosts_per_leaf = 1, .spines = 8, .cores = 64, .host = OneNicHost()}).value();
  const Router router(fabric);
  ASSERT_EQ(router.CountPaths(GpuId(0), GpuId(1)), 64u);
  std::map<Path, int> counts;
  for (uint32_t flow = 0; flow < 16'000; ++flow) ++counts[EcmpPath(router, GpuId(0), GpuId(1), TupleOf(flow), 5)];
  ASSERT_EQ(counts.size(), 64u);
  std::vector<int> values;
  values.reserve(counts.size());
  for (const auto& [path, count] : counts) values.push_back(count);
  EXPECT_LT(ChiSquare(values), 113.5);
}

// The same five-tuples at two different leaves: the pair of spines that they choose takes all 64 values equally often.
TEST(EcmpTest, DifferentLeavesAreDecorrelated) {
  const Fabric fabric = BuildClos({.leaves = 3, .hosts_per_leaf = 1, .spines = 8, .host = OneNicHost()}).value();
  const Router router(fabric);
  std::vector<int> counts(64, 0);
  const auto spine_of = [&](const Path& path) {
    for (const LinkId link : path) {
      if (fabric.kind(fabric.destination(link)) == NodeKind::kSpine) {
        return fabric.destination(link).value() - fabric.switches(NodeKind::kSpine)[0].value();
      }
    }
    return 99u;
  };
  for (uint32_t flow = 0; flow < 16'000; ++flow) {
    const uint32_t a = spine_of(EcmpPath(router, GpuId(0), GpuId(2), TupleOf(flow), 5));
    const uint32_t b = spine_of(EcmpPath(router, GpuId(1), GpuId(2), TupleOf(flow), 5));
    ++counts.at(8 * a + b);
  }
  EXPECT_LT(ChiSquare(counts), 113.5);
}

// Every field of the five-tuple and the seed matter: changing one moves about 7/8 of 800 cases, 700 +- 9.4.
TEST(EcmpTest, EveryFieldOfTheTupleAndTheSeedMatter) {
  const Fabric fabric = EightPaths();
  const Router router(fabric);
  std::vector<int> num_moved(6, 0);
  for (uint32_t flow = 0; flow < 800; ++flow) {
    const FiveTuple tuple = TupleOf(flow);
    const Path path = EcmpPath(router, GpuId(0), GpuId(1), tuple, 9);
    EXPECT_EQ(path, EcmpPath(router, GpuId(0), GpuId(1), tuple, 9)) << "same tuple, same path";
    std::vector<FiveTuple> others(6, tuple);
    others[0].source_address ^= 1;
    others[1].destination_address ^= 1;
    others[2].source_port ^= 1;
    others[3].destination_port ^= 1;
    others[4].protocol ^= 1;
    for (size_t i = 0; i < others.size(); ++i) {
      num_moved[i] += EcmpPath(router, GpuId(0), GpuId(1), others[i], i == 5 ? 10 : 9) != path ? 1 : 0;
    }
  }
  for (const int moved : num_moved) EXPECT_NEAR(moved, 700, 47);  // five standard deviations
}

// A bonded pair: the host picks the port out, the planes keep it. 2 planes * 4 spines, 7 degrees of freedom: 99.99 %
// below 29.9.
TEST(EcmpTest, BondedPortsAreChosenUniformly) {
  RailSpec spec{.segments = 2, .hosts_per_segment = 1, .spines = 4};
  const Fabric fabric = BuildRail(spec).value();
  const Router router(fabric);
  std::map<Path, int> counts;
  for (uint32_t flow = 0; flow < 16'000; ++flow) ++counts[EcmpPath(router, GpuId(0), GpuId(8), TupleOf(flow), 5)];
  ASSERT_EQ(counts.size(), 8u);
  std::vector<int> values;
  values.reserve(counts.size());
  for (const auto& [path, count] : counts) values.push_back(count);
  EXPECT_LT(ChiSquare(values), 29.9);
}

}  // namespace
}  // namespace fairlead::topology
