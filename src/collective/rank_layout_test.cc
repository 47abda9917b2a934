#include "collective/rank_layout.h"

#include <gtest/gtest.h>

#include <array>

#include "topology/fabric_builder.h"

namespace fairlead::collective {
namespace {

topology::Fabric TwoHostsOnOneLeaf() {
  topology::FabricBuilder builder;
  const topology::HostSpec spec;
  const std::array leaves = {builder.AddSwitch(topology::NodeKind::kLeaf)};
  for (int i = 0; i < 2; ++i) builder.CablePorts(builder.AddHost(spec), spec, leaves);
  return std::move(builder).Build().value();
}

// The default host has 8 GPUs: GPU 11 is number 3 of host 1.
TEST(RankLayoutTest, PlacesKnowHostAndLocalIndex) {
  const RankLayout layout = MakeRankLayout({{GpuId(11), GpuId(8), GpuId(2)}}, TwoHostsOnOneLeaf());
  EXPECT_EQ(layout.ranks,
            (Communicator{{GpuId(11), HostId(1), 3}, {GpuId(8), HostId(1), 0}, {GpuId(2), HostId(0), 2}}));
}

TEST(RankLayoutTest, RegularLayoutIsThatOfAFabricOfWholeHosts) {
  model::Placement placement;
  for (uint32_t i = 0; i < 16; ++i) placement.gpus.emplace_back(i);
  EXPECT_EQ(MakeRankLayout(placement, TwoHostsOnOneLeaf()).ranks, MakeRegularLayout(2, 8).ranks);
}

TEST(RankLayoutTest, GroupsFollowTheFirstAppearanceOfTheirHost) {
  const Communicator ranks = {{GpuId(9), HostId(1), 1}, {GpuId(0), HostId(0), 0}, {GpuId(8), HostId(1), 0}};
  const std::vector<Communicator> groups = GroupByHost(ranks);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (Communicator{ranks[0], ranks[2]}));
  EXPECT_EQ(groups[1], (Communicator{ranks[1]}));
}

}  // namespace
}  // namespace fairlead::collective
