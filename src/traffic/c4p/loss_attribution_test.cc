#include "traffic/c4p/loss_attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/random.h"

namespace fairlead::traffic::c4p {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

ProbeResult Probe(const std::vector<uint32_t>& links, uint64_t sent, uint64_t lost, double rtt_us = 0) {
  ProbeResult probe{.links = {}, .sent = sent, .lost = lost, .rtt = Seconds(rtt_us * 1e-6)};
  probe.links.reserve(links.size());
  for (const uint32_t link : links) probe.links.emplace_back(link);
  return probe;
}

LinkObservation Saw(uint32_t link, uint64_t sent, uint64_t lost, double rtt_us = 0) {
  return {.link = LinkId(link), .sent = sent, .lost = lost, .rtt = Seconds(rtt_us * 1e-6)};
}

TEST(LossAttributionTest, LinkBetweenCleanOnesIsBlamed) {
  // 0-1 loses; 0-2 clears 0; 3-1 loses too; 3-2 clears 3. Link 1 explains both, 20 of 200 packets.
  const std::vector<ProbeResult> probes = {Probe({0, 1}, 100, 5), Probe({0, 2}, 100, 0, 20), Probe({3, 1}, 100, 15),
                                           Probe({3, 2}, 100, 0, 10)};
  const Attribution found = AttributeLosses(probes, 4, {});
  EXPECT_THAT(found.blamed, ElementsAre(LinkId(1)));
  // The lossy probes say nothing about 0 and 3 any more; of link 2's RTTs the lesser one counts.
  EXPECT_THAT(found.observations,
              ElementsAre(Saw(0, 100, 0, 20), Saw(1, 200, 20), Saw(2, 200, 0, 10), Saw(3, 100, 0, 10)));
  EXPECT_EQ(found.num_unexplained, 0u);
}

TEST(LossAttributionTest, ThinProbesClearTogether) {
  // No probe alone has 100 packets. Across link 0 in all: 20 x 10 packets, one lost = 0.5 % < 1 %: cleared.
  std::vector<ProbeResult> probes(19, Probe({0}, 10, 0));
  probes.push_back(Probe({0}, 10, 1));
  const Attribution found = AttributeLosses(probes, 1, {});
  EXPECT_THAT(found.blamed, IsEmpty());
  EXPECT_EQ(found.num_unexplained, 1u);
  EXPECT_THAT(AttributeLosses(probes, 1, {.min_clearing_packets = 201}).blamed, ElementsAre(LinkId(0)));
}

TEST(LossAttributionTest, OfEqualClaimsTheOneWithFewerCleanPacketsIsBlamed) {
  // Too few packets to clear any; but link 0 carried 20 of them well.
  const std::vector<ProbeResult> probes = {Probe({0}, 20, 0), Probe({0, 1}, 20, 20)};
  EXPECT_THAT(AttributeLosses(probes, 2, {}).blamed, ElementsAre(LinkId(1)));
}

TEST(LossAttributionTest, MostLossyProbesFirstThenLowestId) {
  // Link 5 explains two probes, then 2 and 3 are equally good for the third.
  const std::vector<ProbeResult> probes = {Probe({1, 5}, 10, 10), Probe({4, 5}, 10, 10), Probe({3, 2}, 10, 10)};
  const Attribution found = AttributeLosses(probes, 6, {});
  EXPECT_THAT(found.blamed, ElementsAre(LinkId(2), LinkId(5)));
  // About 1, 3 and 4 nothing is known: their only probes are explained.
  EXPECT_THAT(found.observations, ElementsAre(Saw(2, 10, 10), Saw(5, 20, 20)));
}

TEST(LossAttributionTest, LossesAcrossClearedLinksAreUnexplained) {
  const std::vector<ProbeResult> probes = {Probe({0}, 1000, 0), Probe({0}, 10, 3)};
  const Attribution found = AttributeLosses(probes, 1, {});
  EXPECT_THAT(found.blamed, IsEmpty());
  EXPECT_EQ(found.num_unexplained, 1u);
  EXPECT_THAT(found.observations, ElementsAre(Saw(0, 1010, 0)));
}

TEST(LossAttributionTest, NonsenseIsIgnoredAndCounted) {
  const std::vector<ProbeResult> probes = {Probe({}, 10, 0), Probe({0}, 0, 0), Probe({0}, 10, 11),
                                           Probe({0, 7}, 10, 0)};
  const Attribution found = AttributeLosses(probes, 7, {});
  EXPECT_EQ(found.num_ignored_probes, 4u);
  EXPECT_THAT(found.observations, IsEmpty());
  EXPECT_THAT(AttributeLosses({}, 7, {}).observations, IsEmpty());

  ProbeResult odd = Probe({0, 0}, 10, 0);  // a link named twice is crossed once
  odd.rtt = Seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(AttributeLosses(std::vector{odd, Probe({0}, 5, 0, -3)}, 1, {}).observations, ElementsAre(Saw(0, 15, 0)));
}

TEST(LossAttributionTest, OptionsNameTheirRange) {
  EXPECT_THAT((AttributionOptions{.loss_limit = std::nan("")}.Validate().message()), testing::HasSubstr("(0, 1]"));
  EXPECT_FALSE((AttributionOptions{.min_clearing_packets = 0}.Validate().ok()));
  EXPECT_TRUE(AttributionOptions().Validate().ok());
}

// Two-layer fabric: path leaf a -> spine s -> leaf b is up link a * spines + s, then down link (leaves + b) * spines +
// s.
std::vector<ProbeResult> ProbeEverything(uint32_t leaves, uint32_t spines, const std::set<uint32_t>& bad, double loss,
                                         Random* random) {
  std::vector<ProbeResult> probes;
  for (uint32_t a = 0; a < leaves; ++a) {
    for (uint32_t b = 0; b < leaves; ++b) {
      for (uint32_t s = 0; s < spines && a != b; ++s) {
        ProbeResult probe = Probe({a * spines + s, (leaves + b) * spines + s}, 100, 0, 10);
        for (const LinkId link : probe.links) {
          if (!bad.contains(link.value())) continue;
          for (int packet = 0; packet < 100; ++packet) probe.lost += random->Uniform() < loss ? 1 : 0;
        }
        probe.lost = std::min(probe.lost, probe.sent);
        probes.push_back(probe);
      }
    }
  }
  return probes;
}

TEST(LossAttributionTest, FullMeshNamesExactlyTheBadLinks) {
  // A link that loses 20 % of 100 packets shows less than 1 % with probability 0.8^100 = 2e-10, so all its 5 probes are
  // lossy. With at most three bad links of 48, each good one lies on 5 probes with at least one other good link, and is
  // cleared by a clean one.
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    std::set<uint32_t> bad;
    for (uint64_t n = random.Below(4); bad.size() < n;) bad.insert(static_cast<uint32_t>(random.Below(48)));
    std::vector<ProbeResult> probes = ProbeEverything(6, 4, bad, 0.2, &random);
    const Attribution found = AttributeLosses(probes, 48, {});
    std::vector<LinkId> expected;
    expected.reserve(bad.size());
    for (const uint32_t link : bad) expected.emplace_back(link);
    EXPECT_EQ(found.blamed, expected);
    EXPECT_EQ(found.num_unexplained, 0u);
    random.Shuffle(std::span(probes));
    EXPECT_EQ(AttributeLosses(probes, 48, {}).observations, found.observations);
  }
}

TEST(LossAttributionTest, ProbesThatAreAlikeCountOneByOne) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<ProbeResult> together;
    std::vector<ProbeResult> apart;
    for (uint64_t p = random.Below(12); p > 0; --p) {
      const auto link = [&] { return static_cast<uint32_t>(random.Below(9)); };  // 8 is none
      const uint64_t sent = random.Below(120);
      ProbeResult probe = Probe({link(), link(), link()}, sent, random.Below(2) * random.Below(sent + 2), 10);
      probe.num_probes = 1 + random.Below(4);
      together.push_back(probe);
      const uint64_t num_probes = std::exchange(probe.num_probes, 1);
      apart.insert(apart.end(), num_probes, probe);
    }
    const Attribution found = AttributeLosses(together, 8, {});
    const Attribution expected = AttributeLosses(apart, 8, {});
    EXPECT_EQ(found.observations, expected.observations);
    EXPECT_EQ(found.blamed, expected.blamed);
    EXPECT_EQ(found.num_unexplained, expected.num_unexplained);
    EXPECT_EQ(found.num_ignored_probes, expected.num_ignored_probes);
  }
}

// The least number of candidates that hit every set.
size_t SmallestCover(const std::vector<uint32_t>& sets, uint32_t num_links) {
  size_t best = num_links;
  for (uint32_t chosen = 0; chosen < 1u << num_links; ++chosen) {
    const bool covers = std::all_of(sets.begin(), sets.end(), [&](uint32_t set) { return (set & chosen) != 0; });
    if (covers) best = std::min(best, static_cast<size_t>(std::popcount(chosen)));
  }
  return best;
}

TEST(LossAttributionTest, LawsOnRandomProbes) {
  constexpr uint32_t kLinks = 10;
  Random random(17);
  for (int round = 0; round < 500; ++round) {
    std::vector<ProbeResult> probes;
    uint32_t cleared = 0;
    for (uint64_t p = random.Below(15); p > 0; --p) {
      std::vector<uint32_t> links;
      uint32_t set = 0;
      for (uint64_t hops = 1 + random.Below(4); hops > 0; --hops) {
        links.push_back(static_cast<uint32_t>(random.Below(kLinks)));
        set |= 1u << links.back();
      }
      // Lossy by so much that no link is cleared by the sum of its probes.
      const bool is_lossy = random.Below(2) == 0;
      probes.push_back(Probe(links, 100, is_lossy ? 100 : 0));
      if (!is_lossy) cleared |= set;
    }
    std::vector<uint32_t> to_cover;  // links of each lossy probe that are not cleared
    uint64_t unexplained = 0;
    for (const ProbeResult& probe : probes) {
      uint32_t set = 0;
      for (const LinkId link : probe.links) set |= 1u << link.value();
      set &= ~cleared;
      if (probe.lost > 0 && set != 0) to_cover.push_back(set);
      if (probe.lost > 0 && set == 0) ++unexplained;
    }
    const Attribution found = AttributeLosses(probes, kLinks, {});
    uint32_t blamed = 0;
    for (const LinkId link : found.blamed) blamed |= 1u << link.value();
    EXPECT_EQ(blamed & cleared, 0u);
    for (const uint32_t set : to_cover) EXPECT_NE(set & blamed, 0u);
    EXPECT_EQ(found.num_unexplained, unexplained);
    // At most 14 probes across a link: H(14) = 3.25.
    if (!to_cover.empty()) {
      EXPECT_LE(static_cast<double>(found.blamed.size()), 3.25 * static_cast<double>(SmallestCover(to_cover, kLinks)));
    } else {
      EXPECT_THAT(found.blamed, IsEmpty());
    }
    // Every lost packet of an explained probe is charged to exactly one link.
    uint64_t charged = 0;
    for (const LinkObservation& seen : found.observations) charged += seen.lost;
    EXPECT_EQ(charged, 100 * to_cover.size());
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
