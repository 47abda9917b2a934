#include "topology/layer_summary.h"

#include <gtest/gtest.h>

#include "topology/clos_fabrics.h"
#include "topology/fabric_builder.h"

namespace fairlead::topology {
namespace {

TEST(LayerSummaryTest, CountsCablesAndCapacity) {
  ClosSpec spec{.pods = 2, .leaves = 3, .hosts_per_leaf = 4, .spines = 2, .cores = 4};
  spec.leaf_uplink = {.parallel = 2, .oversubscription = 2};
  spec.core_uplink.oversubscription = 4;
  const auto layers = SummarizeLayers(BuildClos(spec).value());
  ASSERT_EQ(layers.size(), 4u);
  // 24 hosts with four NICs of 200 Gb/s; half of it goes up from the leaves, an eighth from the spines.
  EXPECT_EQ(layers[0].num_devices, 24u);
  ASSERT_EQ(layers[0].uplinks.size(), 1u);
  EXPECT_EQ(layers[0].uplinks[0].num_cables, 96u);
  EXPECT_NEAR(layers[0].capacity.value() * 8 / 1e9, 96 * 200, 1e-6);
  EXPECT_EQ(layers[1].uplinks[0].num_cables, 6u * 2 * 2);
  EXPECT_NEAR(layers[1].capacity.value() * 8 / 1e9, 96 * 200 / 2.0, 1e-6);
  EXPECT_NEAR(layers[1].greatest_oversubscription, 2, 1e-9);
  EXPECT_NEAR(layers[2].capacity.value() * 8 / 1e9, 96 * 200 / 8.0, 1e-6);
  EXPECT_NEAR(layers[2].least_oversubscription, 4, 1e-9);
  EXPECT_EQ(layers[3].num_devices, 4u);
  EXPECT_TRUE(layers[3].uplinks.empty());
  EXPECT_EQ(layers[3].greatest_oversubscription, 0);
}

TEST(LayerSummaryTest, NamesTheWorstSwitch) {
  FabricBuilder builder;
  const auto leaves = builder.AddSwitches(NodeKind::kLeaf, 2);
  const auto spines = builder.AddSwitches(NodeKind::kSpine, 1);
  HostSpec spec;
  spec.nics = 3;
  const HostId host = builder.AddHost(spec);
  builder.AddCable(builder.nic(host, 0), leaves[0], GigabitsPerSecond(100));
  builder.AddCable(builder.nic(host, 1), leaves[1], GigabitsPerSecond(100));
  builder.AddCable(builder.nic(host, 2), leaves[1], GigabitsPerSecond(25));
  builder.AddCable(leaves[0], spines[0], GigabitsPerSecond(100));
  builder.AddCable(leaves[1], spines[0], GigabitsPerSecond(50));
  const auto layers = SummarizeLayers(std::move(builder).Build().value());
  ASSERT_EQ(layers.size(), 3u);
  ASSERT_EQ(layers[0].uplinks.size(), 2u);
  EXPECT_EQ(layers[0].uplinks[0].num_cables, 2u);
  EXPECT_DOUBLE_EQ(layers[1].least_oversubscription, 1);
  EXPECT_DOUBLE_EQ(layers[1].greatest_oversubscription, 2.5);
  EXPECT_EQ(layers[1].most_oversubscribed, leaves[1]);
}

}  // namespace
}  // namespace fairlead::topology
