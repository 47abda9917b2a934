#include "topology/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "base/random.h"
#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

using model::Path;

// --- The oracle: depth-first search for all ways of one length, longer and longer until there is one. It shares
// nothing with the router but the fabric.

class Oracle {
 public:
  Oracle(const Fabric& fabric, const LinkHealth& health) : fabric_(fabric), health_(health) {}

  // All shortest ways between two nodes over healthy links, sorted; empty when there is none within `max_length` links.
  // Inside: between nodes of one host, through its switches and CPUs. Otherwise between NICs, through network switches.
  std::vector<Path> ShortestWays(NodeId from, NodeId to, bool inside, size_t max_length = 9) {
    to_ = to;
    inside_ = inside;
    ways_.clear();
    for (size_t length = 1; length <= max_length && ways_.empty(); ++length) Extend(from, length);
    std::sort(ways_.begin(), ways_.end());
    return ways_;
  }

 private:
  void Extend(NodeId at, size_t length) {
    if (at == to_ && length == 0) ways_.push_back(way_);
    if (length == 0) return;
    for (size_t l = 0; l < fabric_.num_links(); ++l) {
      const LinkId link(l);
      if (fabric_.source(link) != at || health_[link] == 0 || IsNetwork(fabric_.tier(link)) == inside_) continue;
      const NodeId next = fabric_.destination(link);
      const NodeKind kind = fabric_.kind(next);
      if (next != to_ && (kind == NodeKind::kGpu || kind == NodeKind::kNic)) continue;
      way_.push_back(link);
      Extend(next, length - 1);
      way_.pop_back();
    }
  }

  const Fabric& fabric_;
  const LinkHealth& health_;
  NodeId to_;
  bool inside_ = false;
  Path way_;
  std::vector<Path> ways_;
};

void ExpectConnected(const Fabric& fabric, GpuId source, GpuId destination, const Path& path) {
  ASSERT_FALSE(path.empty());
  EXPECT_EQ(fabric.source(path.front()), fabric.node_of(source));
  EXPECT_EQ(fabric.destination(path.back()), fabric.node_of(destination));
  for (size_t i = 1; i < path.size(); ++i) EXPECT_EQ(fabric.source(path[i]), fabric.destination(path[i - 1]));
}

// Compares everything the router says about one pair with the oracle.
void ExpectAgrees(const Router& router, const LinkHealth& health, GpuId source, GpuId destination) {
  const Fabric& fabric = router.fabric();
  Oracle oracle(fabric, health);
  std::vector<Path> heads;
  std::vector<Path> middles;
  std::vector<Path> tails;
  if (fabric.host_of(source) == fabric.host_of(destination)) {
    heads = oracle.ShortestWays(fabric.node_of(source), fabric.node_of(destination), true);
    middles = {Path()};
    tails = {Path()};
  } else {
    const NodeId source_nic = fabric.node_of(fabric.nic_of(source));
    const NodeId destination_nic = fabric.node_of(fabric.nic_of(destination));
    heads = oracle.ShortestWays(fabric.node_of(source), source_nic, true);
    middles = oracle.ShortestWays(source_nic, destination_nic, false);
    tails = oracle.ShortestWays(destination_nic, fabric.node_of(destination), true);
  }
  const size_t expected = heads.empty() || tails.empty() ? 0 : middles.size();
  ASSERT_EQ(router.CountPaths(source, destination), expected);
  const PathCandidates candidates = router.FindCandidates(source, destination, 1'000'000);
  ASSERT_EQ(candidates.size(), expected);
  std::set<Path> members;
  for (size_t i = 0; i < expected; ++i) {
    Path path;
    router.AppendPath(source, destination, i, &path);
    ExpectConnected(fabric, source, destination, path);
    const Path candidate = candidates.Path(i);
    EXPECT_EQ(path, candidate);
    EXPECT_EQ(candidates.PathIndex(i), i);
    // Sorted ways in the middle: the i-th path is the i-th way, so indices go by first hop first, and none is missing
    // or twice.
    EXPECT_TRUE(std::ranges::equal(candidates.middle(i), middles[i]));
    EXPECT_TRUE(std::binary_search(heads.begin(), heads.end(), Path(path.begin(), path.begin() + heads[0].size())));
    EXPECT_TRUE(std::binary_search(tails.begin(), tails.end(), Path(path.end() - tails[0].size(), path.end())));
    members.insert(path);
  }
  for (uint16_t port = 0; port < 10; ++port) {
    const model::FiveTuple tuple{
        .source_address = source.value(), .destination_address = destination.value(), .source_port = port};
    Path path = {LinkId(0u)};  // what was there before stays
    ASSERT_EQ(router.AppendEcmpPath(source, destination, tuple, 7, &path), expected > 0);
    ASSERT_EQ(path.front(), LinkId(0u));
    path.erase(path.begin());
    EXPECT_EQ(members.count(path), expected > 0 ? 1u : 0u);
  }
}

void ExpectAllPairsAgree(const Fabric& fabric, const LinkHealth& health, size_t cache_bytes) {
  Router router(fabric, cache_bytes);
  router.SetHealth(health);
  for (size_t s = 0; s < fabric.num_gpus(); ++s) {
    for (size_t d = 0; d < fabric.num_gpus(); ++d) {
      if (s == d) continue;
      ExpectAgrees(router, health, GpuId(s), GpuId(d));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

HostSpec SmallHost(uint32_t gpus, uint32_t nics, uint32_t ports) {
  HostSpec host;
  host.gpus = gpus;
  host.nics = nics;
  host.ports_per_nic = ports;
  host.pcie_switches = 2;
  return host;
}

// Small fabrics of every shape, with bonded NICs and parallel cables.
std::vector<Fabric> SmallFabrics() {
  std::vector<Fabric> fabrics;
  ClosSpec two_layers{.leaves = 2, .hosts_per_leaf = 2, .spines = 3, .host = SmallHost(2, 2, 1)};
  two_layers.leaf_uplink.parallel = 2;
  fabrics.push_back(BuildClos(two_layers).value());
  ClosSpec bonded{.leaves = 2, .hosts_per_leaf = 1, .spines = 2, .host = SmallHost(2, 1, 2)};
  fabrics.push_back(BuildClos(bonded).value());
  ClosSpec three_layers{
      .pods = 2, .leaves = 2, .hosts_per_leaf = 1, .spines = 2, .cores = 4, .host = SmallHost(2, 1, 1)};
  fabrics.push_back(BuildClos(three_layers).value());
  three_layers.core_wiring = CoreWiring::kFull;
  fabrics.push_back(BuildClos(three_layers).value());
  ClosSpec double_sided{.pods = 2,
                        .leaves = 2,
                        .hosts_per_leaf = 1,
                        .spines = 2,
                        .cores = 2,
                        .double_sided = true,
                        .host = SmallHost(2, 1, 2)};
  fabrics.push_back(BuildClos(double_sided).value());
  RailSpec rail{.segments = 2, .hosts_per_segment = 2, .spines = 2, .host = SmallHost(2, 2, 2)};
  fabrics.push_back(BuildRail(rail).value());
  rail.shared_planes = true;
  rail.hosts_per_segment = 1;
  fabrics.push_back(BuildRail(rail).value());
  return fabrics;
}

TEST(RouterTest, AgreesWithSearchOnHealthyFabrics) {
  for (const Fabric& fabric : SmallFabrics()) {
    ExpectAllPairsAgree(fabric, LinkHealth(fabric.num_links(), 1), Router::kDefaultCacheBytes);
  }
}

// Single directions and single ports fail as well as whole cables, so that up and down ways differ.
TEST(RouterTest, AgreesWithSearchAfterFailures) {
  Random random(3);
  for (const Fabric& fabric : SmallFabrics()) {
    for (const double failure_rate : {0.05, 0.2, 0.4}) {
      LinkHealth health(fabric.num_links(), 1);
      for (double& fraction : health) fraction = random.Uniform() < failure_rate ? 0 : random.Uniform(0.1, 1);
      ExpectAllPairsAgree(fabric, health, random.Below(2) * Router::kDefaultCacheBytes);
    }
  }
}

// Random graphs have ways that go up and down several times, and NICs on leaves of different depth.
TEST(RouterTest, AgreesWithSearchOnRandomFabrics) {
  Random random(4);
  int num_connected = 0;
  for (int round = 0; round < 60; ++round) {
    FabricBuilder builder;
    const std::vector<NodeId> leaves = builder.AddSwitches(NodeKind::kLeaf, 3);
    const std::vector<NodeId> spines = builder.AddSwitches(NodeKind::kSpine, 3);
    const std::vector<NodeId> cores = builder.AddSwitches(NodeKind::kCore, 2);
    const auto any = [&](const std::vector<NodeId>& nodes) { return nodes[random.Below(nodes.size())]; };
    const HostSpec spec = SmallHost(1, 1, 1);
    for (int h = 0; h < 3; ++h) {
      const HostId host = builder.AddHost(spec);
      for (uint64_t n = 1 + random.Below(2); n > 0; --n)
        builder.AddCable(builder.nic(host, 0), any(leaves), spec.port_speed);
    }
    for (int i = 0; i < 7; ++i) builder.AddCable(any(leaves), any(spines), spec.port_speed);
    for (int i = 0; i < 3; ++i) builder.AddCable(any(spines), any(cores), spec.port_speed);
    const Result<Fabric> fabric = std::move(builder).Build();
    if (!fabric.ok()) continue;
    ++num_connected;
    LinkHealth health(fabric->num_links(), 1);
    ExpectAllPairsAgree(*fabric, health, 0);
    health[LinkId(random.Below(health.size()))] = 0;
    health[LinkId(random.Below(health.size()))] = 0;
    ExpectAllPairsAgree(*fabric, health, 0);
  }
  EXPECT_GT(num_connected, 15);
}

TEST(RouterTest, CountsOfKnownShapes) {
  // Testbed of Crux, section 6.1, with two 100 Gb/s ports per NIC. Under one leaf: 2 ports up * 2 down = 4. Between
  // leaves: 2 ports * 8 spines * 2 cables up * 2 cables down * 2 ports = 128.
  ClosSpec testbed{.leaves = 6, .hosts_per_leaf = 2, .spines = 8};
  testbed.leaf_uplink.parallel = 2;
  testbed.host.ports_per_nic = 2;
  testbed.host.port_speed = GigabitsPerSecond(100);
  const Fabric fabric = BuildClos(testbed).value();
  const Router router(fabric);
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(1)), 1u);
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(8)), 4u);
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(16)), 128u);

  // Two isolated planes of 60 spines: one port up, one port down in each plane; 2 * 60 = 120. On one leaf: 2.
  RailSpec rail{.segments = 2, .hosts_per_segment = 2, .spines = 60};
  const Fabric rails = BuildRail(rail).value();
  const Router rail_router(rails);
  EXPECT_EQ(rail_router.CountPaths(GpuId(0), GpuId(8)), 2u);
  EXPECT_EQ(rail_router.CountPaths(GpuId(0), GpuId(16)), 120u);
  // Another rail is another leaf even in the same segment: over a spine.
  EXPECT_EQ(rail_router.CountPaths(GpuId(0), GpuId(9)), 120u);
  // Shared by the planes, a spine reaches both ports of the destination: 2 * 60 * 2 = 240.
  rail.shared_planes = true;
  const Fabric shared = BuildRail(rail).value();
  EXPECT_EQ(Router(shared).CountPaths(GpuId(0), GpuId(16)), 240u);
}

std::string Names(const Fabric& fabric, const Path& path) {
  std::string names;
  for (const LinkId link : path) names += fabric.LinkName(link) + " ";
  return names;
}

TEST(RouterTest, WaysInsideTheTestbedHost) {
  ClosSpec spec{.leaves = 1, .hosts_per_leaf = 2, .spines = 1};
  for (const bool has_nvlink : {true, false}) {
    if (!has_nvlink) spec.host.nvlink_speed = BytesPerSecond(0);
    const Fabric fabric = BuildClos(spec).value();
    const Router router(fabric);
    const auto way = [&](int source, int destination) {
      Path path;
      router.AppendPath(GpuId(source), GpuId(destination), 0, &path);
      return Names(fabric, path);
    };
    // GPUs 0, 1 and NIC 0 share PCIe switch 0; GPU 2 is on the next switch of the socket, GPU 7 on the other socket.
    EXPECT_EQ(way(1, 15),
              "h0/gpu1->h0/pcie0 h0/pcie0->h0/nic0 h0/nic0->leaf0 leaf0->h1/nic3 h1/nic3->h1/pcie3 h1/pcie3->h1/gpu7 ");
    if (has_nvlink) {
      EXPECT_EQ(way(0, 7), "h0/gpu0->h0/nvswitch0 h0/nvswitch0->h0/gpu7 ");
      EXPECT_EQ(way(0, 1), "h0/gpu0->h0/nvswitch0 h0/nvswitch0->h0/gpu1 ");
    } else {
      EXPECT_EQ(way(0, 1), "h0/gpu0->h0/pcie0 h0/pcie0->h0/gpu1 ");
      EXPECT_EQ(way(0, 2), "h0/gpu0->h0/pcie0 h0/pcie0->h0/cpu0 h0/cpu0->h0/pcie1 h0/pcie1->h0/gpu2 ");
      EXPECT_EQ(way(0, 7), "h0/gpu0->h0/pcie0 h0/pcie0->h0/cpu0 h0/cpu0->h0/cpu1 h0/cpu1->h0/pcie3 h0/pcie3->h0/gpu7 ");
    }
  }
}

TEST(RouterTest, NvlinkFailureFallsBackToPcieAndRecovers) {
  const Fabric fabric = BuildClos({.leaves = 1, .hosts_per_leaf = 2, .spines = 1}).value();
  Router router(fabric);
  LinkHealth health(fabric.num_links(), 1);
  health[fabric.FindLink("h0/gpu0->h0/nvswitch0")] = 0;
  router.SetHealth(health);
  Path path;
  router.AppendPath(GpuId(0), GpuId(1), 0, &path);
  EXPECT_EQ(Names(fabric, path), "h0/gpu0->h0/pcie0 h0/pcie0->h0/gpu1 ");
  health[fabric.FindLink("h0/gpu0->h0/pcie0")] = 0;
  router.SetHealth(health);
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(1)), 0u);
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(8)), 0u) << "cut off from its NIC";
  EXPECT_EQ(router.CountPaths(GpuId(1), GpuId(0)), 1u) << "the other direction is up";
  router.SetHealth(LinkHealth(fabric.num_links(), 1));
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(8)), 1u);
}

TEST(RouterTest, CandidatesOverTheLimitAreEvenlySpaced) {
  RailSpec spec{.segments = 2, .hosts_per_segment = 1, .spines = 60};
  const Fabric fabric = BuildRail(spec).value();
  const Router router(fabric);
  const PathCandidates candidates = router.FindCandidates(GpuId(0), GpuId(8), 16);
  ASSERT_EQ(candidates.size(), 16u);
  EXPECT_EQ(candidates.num_paths, 120u);
  for (size_t i = 0; i < 16; ++i) {
    // floor(7.5 i): 0, 7, 15, 22, …, 112.
    EXPECT_EQ(candidates.PathIndex(i), 15 * i / 2);
    Path path;
    router.AppendPath(GpuId(0), GpuId(8), candidates.PathIndex(i), &path);
    EXPECT_EQ(candidates.Path(i), path);
  }
}

// 1024 parallel cables on each of six hops and 16 ports at the end: 2^64 paths.
TEST(RouterTest, CountsSaturateAndPathsStayValid) {
  FabricBuilder builder;
  const std::vector<NodeId> leaves = builder.AddSwitches(NodeKind::kLeaf, 4);
  const std::vector<NodeId> spines = builder.AddSwitches(NodeKind::kSpine, 4);
  const HostSpec spec = SmallHost(1, 1, 1);
  const auto add_cables = [&](NodeId a, NodeId b, int count) {
    for (int i = 0; i < count; ++i) builder.AddCable(a, b, spec.port_speed);
  };
  add_cables(builder.nic(builder.AddHost(spec), 0), leaves[0], 1);
  add_cables(builder.nic(builder.AddHost(spec), 0), leaves[3], 16);
  for (int i = 0; i < 3; ++i) {
    add_cables(leaves[i], spines[i], 1024);
    add_cables(spines[i], leaves[i + 1], 1024);
  }
  const Fabric fabric = std::move(builder).Build().value();
  const Router router(fabric);
  // 1024^6 * 16 = 2^64: one more than fits.
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(router.CountPaths(GpuId(0), GpuId(1)), kMax);
  for (const uint64_t index : {uint64_t{0}, kMax / 2, kMax - 1}) {
    Path path;
    router.AppendPath(GpuId(0), GpuId(1), index, &path);
    ExpectConnected(fabric, GpuId(0), GpuId(1), path);
  }
  EXPECT_EQ(router.FindCandidates(GpuId(0), GpuId(1), 100).size(), 100u);
}

TEST(RouterTest, MovedRouterWorks) {
  const Fabric fabric = BuildClos({}).value();
  Router first(fabric);
  Router second(std::move(first));
  EXPECT_EQ(second.CountPaths(GpuId(0), GpuId(31)), 2u);
  LinkHealth health(fabric.num_links(), 1);
  health[fabric.FindLink("leaf0->spine1")] = 0;
  second.SetHealth(health);
  EXPECT_EQ(second.CountPaths(GpuId(0), GpuId(31)), 1u);
}

}  // namespace
}  // namespace fairlead::topology
