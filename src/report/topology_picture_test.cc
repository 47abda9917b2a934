#include "report/topology_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "report/markup_check.h"
#include "report/topology_figure.h"
#include "topology/clos_fabrics.h"
#include "topology/fabric_yaml.h"

namespace fairlead::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using topology::Fabric;
using topology::LinkTier;

Fabric BuildPods(uint32_t pods, uint32_t leaves, uint32_t hosts, uint32_t spines, uint32_t cores) {
  topology::ClosSpec spec;
  spec.pods = pods;
  spec.leaves = leaves;
  spec.hosts_per_leaf = hosts;
  spec.spines = spines;
  spec.cores = cores;
  auto fabric = topology::BuildClos(spec);
  EXPECT_TRUE(fabric.ok()) << fabric.status().message();
  return std::move(fabric).value();
}

TopologyPicture Make(const PictureInput& input, const PictureOptions& options = {}) {
  auto picture = MakePicture(input, options);
  EXPECT_TRUE(picture.ok()) << picture.status().message();
  return picture.ok() ? *picture : TopologyPicture{};
}

std::vector<std::string> NamesOf(const TopologyPicture& picture, PictureTier tier) {
  std::vector<std::string> names;
  for (const PictureNode& node : picture.nodes) {
    if (node.tier == tier) names.push_back(node.name);
  }
  return names;
}

const PictureLink* FindLine(const TopologyPicture& picture, const std::string& below, const std::string& above) {
  for (const PictureLink& link : picture.links) {
    if (picture.nodes[link.below].name == below && picture.nodes[link.above].name == above) return &link;
  }
  return nullptr;
}

uint32_t CountCables(const Fabric& fabric, std::set<LinkTier> tiers) {
  uint32_t count = 0;
  for (uint32_t l = 0; l < fabric.num_links(); l += 2) count += tiers.contains(fabric.tier(LinkId(l))) ? 1 : 0;
  return count;
}

TEST(TopologyPictureTest, ASmallFabricIsShownWhole) {
  const Fabric fabric = BuildPods(1, 2, 2, 2, 0);
  const TopologyPicture picture = Make({.fabric = fabric, .conditions = {}, .jobs = {}});
  EXPECT_THAT(NamesOf(picture, PictureTier::kHost), ElementsAre("h0", "h1", "h2", "h3"));
  EXPECT_THAT(NamesOf(picture, PictureTier::kLeaf), ElementsAre("leaf0", "leaf1"));
  EXPECT_THAT(NamesOf(picture, PictureTier::kSpine), ElementsAre("spine0", "spine1"));
  // One line for each host, whatever its NICs are, and one for each leaf and spine.
  EXPECT_EQ(picture.links.size(), 4u + 4u);
  uint32_t num_cables = 0;
  for (const PictureLink& link : picture.links) num_cables += link.num_cables;
  EXPECT_EQ(num_cables, CountCables(fabric, {LinkTier::kHostLeaf, LinkTier::kLeafSpine}));
  for (const PictureNode& node : picture.nodes) EXPECT_FALSE(node.opens) << node.name;
  EXPECT_EQ(picture.nodes[4].num_hosts, 2u);
}

TEST(TopologyPictureTest, ALineIsNamedByItsWorstLink) {
  const Fabric fabric = BuildPods(1, 2, 2, 2, 0);
  const LinkId full = fabric.FindLink("leaf0->spine0"), weak = fabric.FindLink("spine1->leaf0");
  const LinkId down = fabric.FindLink("leaf1->spine1");
  std::vector<LinkCondition> conditions(fabric.num_links());
  conditions[full.index()] = {.load = 0.75};
  conditions[fabric.reverse(full).index()] = {.load = 0.25};
  conditions[weak.index()] = {.load = 0.5, .health = 0.5};
  conditions[down.index()] = {.load = 0.9, .health = 0, .is_down = true};
  const TopologyPicture picture = Make({.fabric = fabric, .conditions = conditions, .jobs = {}});
  const PictureLink* line = FindLine(picture, "leaf0", "spine0");
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->name, "leaf0->spine0");
  EXPECT_EQ(line->load, 0.75);
  EXPECT_EQ(line->num_down + line->num_degraded, 0u);
  line = FindLine(picture, "leaf0", "spine1");
  EXPECT_EQ(line->name, "spine1->leaf0");
  EXPECT_EQ(line->num_degraded, 1u);
  line = FindLine(picture, "leaf1", "spine1");
  EXPECT_EQ(line->name, "leaf1->spine1");
  EXPECT_EQ(line->num_down, 1u);
  EXPECT_EQ(line->load, 0);  // what is down carries nothing
}

// Whatever is shown as runs: each cable between the tiers is in one line, and opening runs leads to every switch.
TEST(TopologyPictureTest, RunsHoldEveryCableAndOpenToEverySwitch) {
  const Fabric fabric = BuildPods(3, 50, 2, 6, 12);
  const PictureInput input{.fabric = fabric, .conditions = {}, .jobs = {}};
  const TopologyPicture whole = Make(input);
  EXPECT_TRUE(NamesOf(whole, PictureTier::kHost).empty());
  EXPECT_LE(NamesOf(whole, PictureTier::kLeaf).size(), 32u);
  EXPECT_EQ(NamesOf(whole, PictureTier::kSpine).size(), 18u);
  uint32_t num_cables = 0;
  for (const PictureLink& link : whole.links) num_cables += link.num_cables;
  EXPECT_EQ(num_cables, CountCables(fabric, {LinkTier::kLeafSpine, LinkTier::kSpineCore}));
  std::set<std::string> leaves;
  std::set<std::string> hosts;
  for (const PictureNode& run : whole.nodes) {
    if (run.tier != PictureTier::kLeaf) continue;
    EXPECT_TRUE(run.opens);
    EXPECT_EQ(run.part, "pod " + run.part.substr(4)) << "runs stay within pods";
    const TopologyPicture inside = Make(input, {.open = run.name});
    for (const std::string& name : NamesOf(inside, PictureTier::kLeaf)) {
      EXPECT_TRUE(leaves.insert(name).second) << name << " is in two runs";
    }
    EXPECT_EQ(NamesOf(inside, PictureTier::kSpine).size(), 6u) << "those of its pod";
    for (const std::string& name : NamesOf(inside, PictureTier::kHost)) hosts.insert(name);
  }
  EXPECT_EQ(leaves.size(), 150u);
  EXPECT_EQ(hosts.size(), 300u);
  EXPECT_THAT(NamesOf(Make(input, {.open = "leaf7"}), PictureTier::kHost), ElementsAre("h14", "h15"));
}

TEST(TopologyPictureTest, JobsLeadOverTheirLinesAndMeetThoseOnTheSameLinks) {
  const Fabric fabric = BuildPods(1, 4, 2, 2, 0);
  const auto links = [&](std::vector<const char*> names) {
    std::vector<LinkId> ids;
    for (const char* name : names) ids.push_back(fabric.FindLink(name));
    return ids;
  };
  const PictureInput input{.fabric = fabric,
                           .conditions = {},
                           .jobs = {{"a", links({"leaf0->spine0", "spine0->leaf1"})},
                                    {"b", links({"leaf0->spine0", "spine0->leaf2"})},
                                    {"c", links({"leaf3->spine1", "spine1->leaf2"})}}};
  const TopologyPicture picture = Make(input);
  ASSERT_EQ(picture.jobs.size(), 3u);
  std::set<std::string> lines;
  for (const uint32_t line : picture.jobs[0].links) {
    lines.insert(picture.nodes[picture.links[line].below].name + " " + picture.nodes[picture.links[line].above].name);
  }
  EXPECT_EQ(lines, (std::set<std::string>{"leaf0 spine0", "leaf1 spine0"}));
  EXPECT_THAT(picture.jobs[0].meets, ElementsAre("b"));
  EXPECT_THAT(picture.jobs[1].meets, ElementsAre("a"));
  EXPECT_EQ(picture.jobs[2].num_meets, 0u);
  // Of one job all is told, however little room there is.
  const TopologyPicture tight = Make(input, {.job = "c", .jobs_max = 1, .job_links_max = 0});
  ASSERT_EQ(tight.jobs.size(), 2u);
  EXPECT_EQ(tight.num_jobs, 3u);
  EXPECT_FALSE(tight.jobs[0].is_told);
  EXPECT_EQ(tight.jobs[1].name, "c");
  EXPECT_EQ(tight.jobs[1].links.size(), 2u);
}

TEST(TopologyPictureTest, WhatIsNotThereIsNotFound) {
  const Fabric fabric = BuildPods(1, 2, 2, 2, 0);
  const PictureInput input{.fabric = fabric, .conditions = {}, .jobs = {}};
  for (const char* name :
       {"leaf2", "leaf1..leaf0", "leaf0..spine1", "leaf0..", "..", "h0/nic0", "h0/gpu0", "<script>"}) {
    const auto picture = MakePicture(input, {.open = name});
    EXPECT_EQ(picture.status().code(), StatusCode::kNotFound) << name;
  }
  EXPECT_EQ(MakePicture(input, {.job = "nobody"}).status().code(), StatusCode::kNotFound);
}

TEST(TopologyPictureTest, PlanesAndRailsHaveNames) {
  const auto fabric = topology::LoadFabricFile(std::string(FAIRLEAD_SOURCE_DIR) + "/fabrics/rail-dual-plane-1024.yaml");
  ASSERT_TRUE(fabric.ok()) << fabric.status().message();
  const TopologyPicture picture = Make({.fabric = *fabric, .conditions = {}, .jobs = {}});
  std::set<std::string> rails;
  for (const PictureNode& node : picture.nodes) {
    if (node.tier == PictureTier::kLeaf && node.num_members == 1) rails.insert(node.rails);
  }
  EXPECT_GT(rails.size(), 1u);
}

TEST(TopologyPictureTest, TenThousandHostsAreAShortAnswer) {
  const Fabric fabric = BuildPods(10, 64, 16, 16, 64);
  ASSERT_EQ(fabric.num_hosts(), 10'240u);
  PictureInput input{.fabric = fabric, .conditions = {}, .jobs = {}};
  // 500 jobs of 64 uplinks each.
  for (uint32_t j = 0; j < 500; ++j) {
    JobOnLinks job;
    job.name = "job-of-somebody-" + std::to_string(j);
    for (uint32_t i = 0; i < 64; ++i) {
      const auto leaf = fabric.switches(topology::NodeKind::kLeaf)[(j * 7 + i) % 640];
      for (const LinkId link : fabric.links_from(leaf)) {
        if (fabric.tier(link) == LinkTier::kLeafSpine && link.value() % 16 == (i + j) % 8 * 2)
          job.links.push_back(link);
      }
    }
    input.jobs.push_back(std::move(job));
  }
  const TopologyPicture picture = Make(input);
  EXPECT_LE(picture.links.size(), 1200u);
  EXPECT_LT(PictureJson(picture).dump().size(), 200'000u);
  const TopologyPicture inside = Make(input, {.open = picture.nodes.front().name});
  EXPECT_LT(PictureJson(inside).dump().size(), 200'000u);
}

TEST(TopologyFigureTest, IsSoundMarkupAndMarksWhatIsDown) {
  const Fabric fabric = BuildPods(2, 40, 2, 4, 4);
  std::vector<LinkCondition> conditions(fabric.num_links());
  conditions[fabric.FindLink("leaf0->spine0").index()] = {.health = 0, .is_down = true};
  const TopologyPicture picture = Make({.fabric = fabric, .conditions = conditions, .jobs = {}});
  const std::string svg = Draw({.title = "Network", .description = "<script>", .load_label = "utilization"}, picture);
  EXPECT_EQ(FindMarkupError(svg), "");
  EXPECT_THAT(svg, HasSubstr("wire thin down"));
  EXPECT_THAT(svg, HasSubstr("pod 1"));
  EXPECT_EQ(FindMarkupError(Draw({.title = "None", .description = "", .load_label = "load"}, TopologyPicture{})), "");
}

}  // namespace
}  // namespace fairlead::report
