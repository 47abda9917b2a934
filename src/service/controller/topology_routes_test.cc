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

NetworkSource ShowNow(const NetworkSnapshot& snapshot) {
  return {.look = [snapshot] { return snapshot; }, .remember = [](std::optional<int64_t>) { return NetworkPast(); }};
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
  const auto json = TopologyJson(fabric, ShowNow(snapshot), {});
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

TEST(TopologyRoutesTest, ThePastHasStatesAndNoJobs) {
  const topology::Fabric fabric = BuildTwoLeaves();
  NetworkSource source = ShowNow({});
  source.remember = [&](std::optional<int64_t> at_s) {
    NetworkPast past{.period_s = 300, .begins = {600, 1200}, .conditions = {}};
    if (at_s == 700) past.conditions.emplace(fabric.num_links());
    if (at_s == 700) past.conditions->at(fabric.FindLink("leaf0->spine1").index()).is_down = true;
    return past;
  };
  const auto down = [](const Json& json) {
    std::vector<std::string> names;
    for (const Json& link : json["links"]) {
      if (link.contains("down")) names.push_back(link["name"]);
    }
    return names;
  };
  const auto past = TopologyJson(fabric, source, {{"at", "700"}});
  ASSERT_TRUE(past.ok()) << past.status().message();
  EXPECT_EQ(down(*past), std::vector<std::string>{"leaf0->spine1"});
  EXPECT_EQ((*past)["at_s"], 700);
  EXPECT_TRUE((*past)["jobs"].empty());
  const auto now = TopologyJson(fabric, source, {});
  ASSERT_TRUE(now.ok());
  EXPECT_TRUE(down(*now).empty());
  EXPECT_FALSE(now->contains("at_s"));
  EXPECT_EQ((*now)["moments"], Json({600, 1200}));
  EXPECT_EQ((*now)["period_s"], 300);
  const auto none = TopologyJson(fabric, source, {{"at", "1100"}});
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_NE(none.status().message().find("the first period began at 600, the last one at 1200"), std::string::npos)
      << none.status().message();
}

TEST(TopologyRoutesTest, ParametersAreChecked) {
  const topology::Fabric fabric = BuildTwoLeaves();
  const NetworkSource source = ShowNow({});
  const auto code = [&](const HttpQuery& query) { return TopologyJson(fabric, source, query).status().code(); };
  EXPECT_EQ(code({{"open", "leaf1"}}), StatusCode::kOk);
  EXPECT_EQ(code({{"open", "leaf7"}}), StatusCode::kNotFound);
  EXPECT_EQ(code({{"job", "nobody"}}), StatusCode::kNotFound);
  EXPECT_EQ(code({{"opne", "leaf1"}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"at", "noon"}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"at", "5"}, {"job", "gpt"}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({{"at", "5"}}), StatusCode::kNotFound);
}

}  // namespace
}  // namespace fairlead::service
