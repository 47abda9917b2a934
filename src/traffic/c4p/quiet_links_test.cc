#include "traffic/c4p/quiet_links.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "traffic/c4p/probe_plan_example.h"

namespace fairlead::traffic::c4p {
namespace {

constexpr double kProbability = 1e-6;  // -ln: 13.8

class QuietLinksTest : public testing::Test {
 protected:
  const LeafPaths& Paths(uint32_t from, uint32_t to) {
    const auto leaves = fabric_.switches(topology::NodeKind::kLeaf);
    return catalogue_.Paths(leaves[from], leaves[to]);
  }

  // Probes from leaf to leaf, each over a path drawn until `takes` says yes.
  template <class Takes>
  std::vector<PortScanSeen> Probe(uint32_t num_probes, const Takes& takes) {
    std::vector<PortScanSeen> scans;
    for (const auto& [from, to] : {std::pair(0u, 1u), std::pair(1u, 0u)}) {
      const LeafPaths& paths = Paths(from, to);
      PortScanSeen& scan = scans.emplace_back();
      for (uint32_t i = 0; i < num_probes; ++i) {
        auto middle = paths.path(static_cast<uint32_t>(random_.Below(paths.num_paths)));
        while (!takes(middle)) middle = paths.path(static_cast<uint32_t>(random_.Below(paths.num_paths)));
        if (scan.routes.empty() ||
            !std::ranges::equal(std::span(scan.routes.back().links).subspan(1, middle.size()), middle)) {
          ProbedRoute& route = scan.routes.emplace_back();
          route.links = {LinkId(0u)};
          route.links.insert(route.links.end(), middle.begin(), middle.end());
          route.links.emplace_back(1u);
        }
        scan.routes.back().ports.push_back(50'000);
      }
    }
    return scans;
  }

  LinkId Uplink(uint32_t path) { return Paths(0, 1).path(path)[0]; }

  Random random_{7};
  topology::Fabric fabric_ = Clos(2, 1);
  PathCatalogue catalogue_{fabric_};
};

constexpr auto kAll = [](std::span<const LinkId>) { return true; };

TEST_F(QuietLinksTest, ALinkThatProbesGoAroundIsQuietOnceChanceIsRuledOut) {
  QuietLinks links(fabric_.num_links(), kProbability);
  const LinkId gone = Uplink(1);
  const auto around = [&](std::span<const LinkId> path) { return path[0] != gone; };
  const uint32_t num_paths = Paths(0, 1).num_paths;
  const uint32_t num_probes = 5 * num_paths;  // 5 across each link and round
  for (int round = 0; round < 50; ++round) EXPECT_TRUE(links.Observe(Probe(num_probes, kAll), &catalogue_).empty());
  // 5 and 10 missing probes may be chance, 15 are not: more than -ln(1e-6) = 13.8, if it had its share before.
  EXPECT_TRUE(links.Observe(Probe(num_probes, around), &catalogue_).empty());
  EXPECT_TRUE(links.Observe(Probe(num_probes, around), &catalogue_).empty());
  // Its far half carries nothing either.
  std::set<LinkId> found;
  for (int round = 2; round < 4; ++round) {
    for (const auto& link : links.Observe(Probe(num_probes, around), &catalogue_)) {
      EXPECT_GE(link.num_missing, 13.8);
      found.insert(link.link);
    }
  }
  EXPECT_TRUE(found.contains(gone));
  for (const LinkId link : found) {
    const auto path = Paths(0, 1).path(1);
    EXPECT_TRUE(std::find(path.begin(), path.end(), link) != path.end()) << link.value();
  }
  // Known as down it is no news, and seen again it is not quiet.
  for (const LinkId link : found) catalogue_.SetHealth(link, 0);
  EXPECT_TRUE(links.Observe(Probe(num_probes, around), &catalogue_).empty());
  for (const LinkId link : found) catalogue_.SetHealth(link, 1);
  EXPECT_TRUE(links.Observe(Probe(20 * num_paths, kAll), &catalogue_).empty());
}

TEST_F(QuietLinksTest, ChanceAloneHardlyEverMakesALinkQuiet) {
  // 20,000 rounds over 4 links: each has 1.5 probes a round, so it goes unseen for 10 rounds with
  // probability e^-15 = 3e-7: 0.2 times in all at the most.
  QuietLinks links(fabric_.num_links(), kProbability);
  const uint32_t num_paths = Paths(0, 1).num_paths;
  size_t num_quiet = 0;
  for (int round = 0; round < 20'000; ++round) {
    num_quiet += links.Observe(Probe(3 * num_paths / 2, kAll), &catalogue_).size();
  }
  EXPECT_LE(num_quiet, 4u);
}

TEST_F(QuietLinksTest, ALinkThatWasDeadFromTheStartIsQuietToo) {
  QuietLinks links(fabric_.num_links(), kProbability);
  const LinkId dead = Uplink(0);
  const auto around = [&](std::span<const LinkId> path) { return path[0] != dead; };
  // 6 probes a round should cross it: the third round makes 18.
  EXPECT_TRUE(links.Observe(Probe(12, around), &catalogue_).empty());
  EXPECT_TRUE(links.Observe(Probe(12, around), &catalogue_).empty());
  const auto quiet = links.Observe(Probe(12, around), &catalogue_);
  EXPECT_TRUE(std::any_of(quiet.begin(), quiet.end(), [&](const auto& link) { return link.link == dead; }));
}

TEST_F(QuietLinksTest, ProbesOverALinkThatAnOperatorTookOutDoNotAccuseTheOthers) {
  // It still carries packets, and by chance all of the first round's.
  const LinkId taken_out = Uplink(0);
  for (const LinkId link : {taken_out, fabric_.reverse(taken_out)}) catalogue_.SetHealth(link, 0);
  QuietLinks links(fabric_.num_links(), kProbability);
  const NodeId spine = fabric_.destination(taken_out);
  const auto over_it = [&](std::span<const LinkId> path) { return fabric_.destination(path[0]) == spine; };
  EXPECT_TRUE(links.Observe(Probe(100, over_it), &catalogue_).empty());
  EXPECT_TRUE(links.Observe(Probe(100, kAll), &catalogue_).empty());
}

TEST_F(QuietLinksTest, ALinkThatTheHashPrefersLessNeedsMoreProbes) {
  QuietLinks links(fabric_.num_links(), kProbability);
  const LinkId rare = Uplink(0);
  const uint32_t num_paths = Paths(0, 1).num_paths;
  // A tenth of its share: 10 probes a round should cross it, 1 does.
  const auto seldom = [&](std::span<const LinkId> path) { return path[0] != rare || random_.Below(10) == 0; };
  size_t num_quiet = 0;
  for (int round = 0; round < 300; ++round)
    num_quiet += links.Observe(Probe(10 * num_paths, seldom), &catalogue_).size();
  EXPECT_EQ(num_quiet, 0u);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
