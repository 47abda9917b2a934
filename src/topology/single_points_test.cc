#include "topology/single_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"
#include "topology/rail_fabric.h"

namespace fairlead::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Removes one thing after the other and looks which hosts the largest part still has.
class RemovalOracle {
 public:
  explicit RemovalOracle(const Fabric& fabric) : fabric_(fabric) {}

  std::map<std::string, uint32_t> Find() {
    std::map<std::string, uint32_t> cut;
    const uint32_t before = NumCut(NodeId(), LinkId());
    for (size_t n = 0; n < fabric_.num_nodes(); ++n) {
      if (!IsNetworkSwitch(fabric_.kind(NodeId(n)))) continue;
      if (const uint32_t hosts = NumCut(NodeId(n), LinkId()); hosts > before)
        cut[fabric_.NodeName(NodeId(n))] = hosts - before;
    }
    for (size_t l = 0; l < fabric_.num_links(); l += 2) {
      if (!IsNetwork(fabric_.tier(LinkId(l)))) continue;
      if (const uint32_t hosts = NumCut(NodeId(), LinkId(l)); hosts > before)
        cut[fabric_.LinkName(LinkId(l))] = hosts - before;
    }
    return cut;
  }

 private:
  uint32_t NumCut(NodeId node, LinkId link) {
    std::set<NodeId> seen;
    size_t largest = 0;
    for (size_t n = 0; n < fabric_.num_nodes(); ++n) {
      if (!IsNetworkSwitch(fabric_.kind(NodeId(n))) || NodeId(n) == node || seen.contains(NodeId(n))) continue;
      std::set<HostId> hosts;
      std::vector<NodeId> todo = {NodeId(n)};
      seen.insert(NodeId(n));
      while (!todo.empty()) {
        const NodeId at = todo.back();
        todo.pop_back();
        for (const LinkId out : fabric_.links_from(at)) {
          if (link.valid() && out.value() / 2 == link.value() / 2) continue;
          const NodeId next = fabric_.destination(out);
          if (next == node) continue;
          if (!IsNetworkSwitch(fabric_.kind(next))) {
            hosts.insert(fabric_.host_of(next));
          } else if (seen.insert(next).second) {
            todo.push_back(next);
          }
        }
      }
      largest = std::max(largest, hosts.size());
    }
    return static_cast<uint32_t>(fabric_.num_hosts() - largest);
  }

  const Fabric& fabric_;
};

std::map<std::string, uint32_t> Named(const Fabric& fabric, const std::vector<SinglePoint>& points) {
  std::map<std::string, uint32_t> named;
  for (const SinglePoint& p : points)
    named[p.node.valid() ? fabric.NodeName(p.node) : fabric.LinkName(p.link)] = p.num_cut_hosts;
  EXPECT_EQ(named.size(), points.size());
  return named;
}

// Sparse: most draws have several single points, and many fall apart and are drawn again.
std::optional<Fabric> DrawSparse(Random* random) {
  FabricBuilder builder;
  std::vector<std::vector<NodeId>> layers;
  for (const NodeKind kind : {NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore}) {
    layers.push_back(
        builder.AddSwitches(kind, static_cast<uint32_t>(1 + random->Below(kind == NodeKind::kLeaf ? 6 : 4))));
  }
  const uint64_t num_hosts = 2 + random->Below(6);
  for (uint64_t h = 0; h < num_hosts; ++h) {
    HostSpec spec;
    spec.gpus = 1;
    spec.nics = static_cast<uint32_t>(1 + random->Below(3));
    const HostId host = builder.AddHost(spec);
    for (uint32_t n = 0; n < spec.nics; ++n) {
      // NICs with two ports are what makes planes.
      for (uint64_t p = 1 + random->Below(2); p > 0; --p) {
        builder.AddCable(builder.nic(host, n), layers[0][random->Below(layers[0].size())], GigabitsPerSecond(1));
      }
    }
  }
  for (size_t l = 0; l < 2; ++l) {
    const uint64_t cables = layers[l].size() + random->Below(5);
    for (uint64_t c = 0; c < cables; ++c) {
      builder.AddCable(layers[l][random->Below(layers[l].size())], layers[l + 1][random->Below(layers[l + 1].size())],
                       GigabitsPerSecond(1));
    }
  }
  auto fabric = std::move(builder).Build();
  if (!fabric.ok()) return std::nullopt;
  return std::move(fabric).value();
}

TEST(SinglePointsTest, AreThoseWhoseRemovalCutsHostsOff) {
  size_t num_drawn = 0;
  size_t num_points = 0;
  for (uint64_t seed = 0; num_drawn < 1500; ++seed) {
    Random random(seed);
    const auto fabric = DrawSparse(&random);
    if (!fabric) continue;
    ++num_drawn;
    const auto found = FindSinglePoints(*fabric);
    num_points += found.size();
    ASSERT_EQ(Named(*fabric, found), RemovalOracle(*fabric).Find()) << "seed " << seed;
  }
  EXPECT_GT(num_points, num_drawn);  // the draws have what is looked for
}

TEST(SinglePointsTest, OfCommonShapes) {
  // Hosts on one leaf each: the leaf is the single point of its hosts, their four cables are not.
  const Fabric clos = BuildClos({.leaves = 3, .hosts_per_leaf = 2, .spines = 2}).value();
  EXPECT_EQ(Named(clos, FindSinglePoints(clos)),
            (std::map<std::string, uint32_t>{{"leaf0", 2}, {"leaf1", 2}, {"leaf2", 2}}));
  // One spine joins everything, and each uplink has no other beside it. Ties go to the part with the most hosts.
  const Fabric star = BuildClos({.leaves = 3, .hosts_per_leaf = 2, .spines = 1}).value();
  EXPECT_EQ(Named(star, FindSinglePoints(star)), (std::map<std::string, uint32_t>{{"spine0", 4},
                                                                                  {"leaf0", 2},
                                                                                  {"leaf1", 2},
                                                                                  {"leaf2", 2},
                                                                                  {"leaf0->spine0", 2},
                                                                                  {"leaf1->spine0", 2},
                                                                                  {"leaf2->spine0", 2}}));
  const Fabric rail = BuildRail({.hosts_per_segment = 4, .spines = 2}).value();
  EXPECT_THAT(FindSinglePoints(rail), IsEmpty());
  const auto points = FindSinglePoints(star);
  EXPECT_EQ(star.NodeName(points[0].node), "spine0");
  EXPECT_EQ(star.NodeName(points[1].node), "leaf0");
}

TEST(SinglePointsTest, LargeFabricsTakeNoTime) {
  const Fabric fabric = BuildClos({.pods = 40, .leaves = 32, .hosts_per_leaf = 4, .spines = 8, .cores = 64}).value();
  const auto points = FindSinglePoints(fabric);
  EXPECT_EQ(points.size(), 40u * 32);  // its leaves
}

}  // namespace
}  // namespace fairlead::topology
