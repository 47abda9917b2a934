#include "cli/sched/sched_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fairlead::cli {
namespace {

using ::testing::HasSubstr;

TEST(SchedSettingsTest, AClusterIsNodesTimesGpus) {
  const auto cluster = ParseCluster("16x4");
  ASSERT_TRUE(cluster.ok());
  EXPECT_EQ(cluster->groups.at(0).num_nodes, 16u);
  EXPECT_EQ(cluster->groups.at(0).gpus_per_node, 4u);
  EXPECT_TRUE(ParseCluster("1000x1000").ok());
  for (const char* text : {"",
                           "16",
                           "x4",
                           "16x",
                           "0x4",
                           "16x0",
                           "-1x4",
                           "16x4x2",
                           "16 x 4",
                           "16X4",
                           "1001x1000",
                           "4294967295x4294967295",
                           "99999999999x1",
                           "16x4 ",
                           "16x4:",
                           "16x4,",
                           ",16x4",
                           "2x4,2x8",
                           "2x4:a,2x8",
                           "2x4:a,2x8:a",
                           "2x4:a;2x8:b",
                           "1000x999:a,1000x2:b"}) {
    const auto refused = ParseCluster(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr("found '" + std::string(text) + "'"));
  }
}

TEST(SchedSettingsTest, AClusterMayHaveSeveralTypesOfGpu) {
  const auto cluster = ParseCluster("6x4:aws,2x8:dgx-ext");
  ASSERT_TRUE(cluster.ok());
  ASSERT_EQ(cluster->num_types(), 2u);
  EXPECT_EQ(cluster->groups[0].gpu_type, "aws");
  EXPECT_EQ(cluster->groups[1].gpu_type, "dgx-ext");
  EXPECT_EQ(cluster->num_gpus(), 40u);
  EXPECT_EQ(cluster->most_gpus_of_type(), 24u);
  EXPECT_EQ(cluster->TypeOf(HostId(5)), 0u);
  EXPECT_EQ(cluster->TypeOf(HostId(6)), 1u);
  EXPECT_EQ(DescribeCluster(*cluster), "6 nodes of 4 GPUs (aws), 2 nodes of 8 GPUs (dgx-ext)");
  EXPECT_EQ(ParseCluster("16x4:aws")->groups.at(0).gpu_type, "aws");
}

TEST(SchedSettingsTest, TenantsHaveNamesWeightsAndPerhapsQuotas) {
  const std::vector<std::string> texts = {"research:2", "prod:0.5:16"};
  const auto tenants = ParseTenants(texts);
  ASSERT_TRUE(tenants.ok()) << tenants.status().message();
  ASSERT_EQ(tenants->size(), 2u);
  EXPECT_EQ((*tenants)[0].name, "research");
  EXPECT_EQ((*tenants)[0].weight, 2);
  EXPECT_EQ((*tenants)[0].guaranteed_gpus, 0u);
  EXPECT_EQ((*tenants)[1].weight, 0.5);
  EXPECT_EQ((*tenants)[1].guaranteed_gpus, 16u);
  for (const std::string bad : {"prod", "prod:", ":1", "prod:x", "prod:1:", "prod:1:-3", "prod:1:2:3"}) {
    EXPECT_THAT(std::string(ParseTenants(std::vector{bad}).status().message()), HasSubstr("--tenants: expected"))
        << bad;
  }
}

}  // namespace
}  // namespace fairlead::cli
