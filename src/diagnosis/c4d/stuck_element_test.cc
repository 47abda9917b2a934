#include "diagnosis/c4d/stuck_element.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::RankId;

// Rank = GPU + 2 * host, a NIC each; hosts 0 and 1 under leaf 0 of plane 0, and so on.
const model::JobLayout kLayout = MakeExampleLayout({.hosts = 6, .gpus = 2, .hosts_per_leaf = 2, .planes = 2});

StuckLink Link(uint32_t from, uint32_t to, uint8_t plane = 0) { return {RankId(from), RankId(to), plane}; }

TEST(StuckElementTest, OnePairIsAConnection) {
  const auto culprits = LocateStuckElement(kLayout, {Link(0, 2), Link(0, 2, 1)});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kConnection);
  EXPECT_EQ(culprits[0].rank, RankId(0));
  EXPECT_EQ(culprits[0].peer, RankId(2));
  EXPECT_FALSE(culprits[0].plane.has_value()) << "stuck in both";
  EXPECT_TRUE(LocateStuckElement(kLayout, {}).empty());
}

TEST(StuckElementTest, PairsThatShareAnEndNameItsNic) {
  auto culprits = LocateStuckElement(kLayout, {Link(4, 0), Link(4, 8)});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kNicSend);
  EXPECT_EQ(culprits[0].nic, NicId(4));
  culprits = LocateStuckElement(kLayout, {Link(0, 4), Link(8, 4)});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kNicReceive);
  culprits = LocateStuckElement(kLayout, {Link(0, 4), Link(4, 8)});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kNic);
  EXPECT_EQ(culprits[0].host, HostId(2));
}

TEST(StuckElementTest, LargerElementsNeedWitnesses) {
  // Two NICs of host 2 with different peers: the host.
  auto culprits = LocateStuckElement(kLayout, {Link(4, 0), Link(5, 9)});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kHost);
  EXPECT_EQ(culprits[0].host, HostId(2));
  // Hosts 2 and 3 are under leaf 1 of plane 0; their peers are under two other leaves.
  culprits = LocateStuckElement(kLayout, {Link(4, 0), Link(6, 8), Link(2, 7)});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kLeaf);
  EXPECT_EQ(culprits[0].leaf, model::LeafId(1));
  // Both directions of one pair: either end may be at fault, so both connections are named and nothing larger.
  culprits = LocateStuckElement(kLayout, {Link(0, 4), Link(4, 0)});
  ASSERT_EQ(culprits.size(), 2u);
  EXPECT_EQ(culprits[0].kind, CulpritKind::kConnection);
}

// Law: whatever is named has a part in every stuck link, and order and repetition of links change nothing.
TEST(StuckElementTest, OnlyRanksOnStuckLinksAreNamed) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<StuckLink> links;
    for (uint64_t i = 0; i <= random.Below(5); ++i) {
      const auto from = static_cast<uint32_t>(random.Below(12));
      const auto to = static_cast<uint32_t>((from + 2 + 2 * random.Below(5)) % 12);
      links.push_back(Link(from, to, static_cast<uint8_t>(random.Below(2))));
    }
    const std::vector<Culprit> culprits = LocateStuckElement(kLayout, links);
    ASSERT_FALSE(culprits.empty()) << "seed " << seed;
    for (const Culprit& culprit : culprits) {
      bool takes_part = culprit.kind == CulpritKind::kPlane;
      for (const StuckLink& link : links) {
        for (const RankId end : {link.from, link.to}) {
          const model::RankPlace& place = kLayout.ranks[end.index()];
          takes_part |= culprit.rank == end || (culprit.host.valid() && culprit.host == place.host) ||
                        (culprit.leaf.valid() && culprit.leaf == place.leaves[link.plane]);
        }
      }
      EXPECT_TRUE(takes_part) << "seed " << seed;
    }
    std::vector<StuckLink> again = links;
    again.push_back(links.front());
    random.Shuffle(std::span(again));
    EXPECT_EQ(LocateStuckElement(kLayout, again), culprits) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
