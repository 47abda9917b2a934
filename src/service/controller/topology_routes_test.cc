#include "service/controller/topology_routes.h"

#include <gtest/gtest.h>

#include <utility>

#include "topology/clos_fabrics.h"

namespace fairlead::service {
namespace {

topology::Fabric BuildTwoLeaves() {
  auto fabric = topology::BuildClos({.leaves = 2, .hosts_per_leaf = 2, .spines = 2});
  EXPECT_TRUE(fabric.ok());
  return std::move(fabric).value();
}

TEST(TopologyRoutesTest, LoadsAreRelativeToTheFullestByWhatIsLeft) {
  const topology::Fabric fabric = BuildTwoLeaves();
  const LinkId half = fabric.FindLink("leaf0->spine0"), whole = fabric.FindLink("leaf0->spine1");
  NetworkSnapshot snapshot;
  // As much on both, but one has half of its capacity: the other is half as full.
  snapshot.links = {{.link = half, .health = 0.5, .num_queue_pairs = 2, .load = 2},
                    {.link = whole, .num_queue_pairs = 2, .load = 2}};
  snapshot.paths = {{"idle", {whole}}, {"loser", {half}}};
  snapshot.jobs.resize(2);
  snapshot.jobs[0].name = "idle";
  snapshot.jobs[1].name = "loser";
  snapshot.jobs[1].num_gpus = 8;
  snapshot.jobs[1].iteration_time = Seconds(2);
  snapshot.jobs[1].fastest_iteration = Seconds(1);
  const auto json = TopologyJson(fabric, snapshot, {});
  ASSERT_TRUE(json.ok()) << json.status().message();
  for (const Json& link : (*json)["links"]) {
    if (link["name"] == "leaf0->spine0") {
      EXPECT_EQ(link["load"], 1);
      EXPECT_EQ(link["degraded"], 1);
    } else if (link["name"] == "leaf0->spine1") {
      EXPECT_EQ(link["load"], 0.5);
      EXPECT_FALSE(link.contains("down"));
    }
  }
  EXPECT_EQ((*json)["jobs"][0]["name"], "loser");
  EXPECT_EQ((*json)["jobs"][1]["name"], "idle");
}

TEST(TopologyRoutesTest, ParametersAreChecked) {
  const topology::Fabric fabric = BuildTwoLeaves();
  EXPECT_TRUE(TopologyJson(fabric, {}, {{"open", "leaf1"}}).ok());
  EXPECT_EQ(TopologyJson(fabric, {}, {{"open", "leaf7"}}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(TopologyJson(fabric, {}, {{"job", "nobody"}}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(TopologyJson(fabric, {}, {{"opne", "leaf1"}}).status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace fairlead::service
