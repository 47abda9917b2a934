#include "traffic/path_bundle.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace fairlead::traffic {
namespace {

model::Path LinksOf(std::initializer_list<uint32_t> links) {
  model::Path path;
  for (const uint32_t link : links) path.emplace_back(link);
  return path;
}

auto AreDead(std::initializer_list<uint32_t> links) {
  return [dead = LinksOf(links)](LinkId link) { return std::ranges::find(dead, link) != dead.end(); };
}

TEST(PathBundleTest, DeadPartsEndBeforeTheirFirstDeadLinkAndComeFirst) {
  // 0 to a NIC, 1x up, 2x down, 9 to the GPU.
  const model::Path bundle = LinksOf({0, 11, 21, 9, 0, 12, 22, 9, 0, 13, 23, 9});
  EXPECT_EQ(BreakOff(bundle, AreDead({22})), LinksOf({0, 12, 0, 11, 21, 9, 0, 13, 23, 9}));
  EXPECT_EQ(BreakOff(bundle, AreDead({11, 21, 23})), LinksOf({0, 0, 13, 0, 12, 22, 9}));
  EXPECT_EQ(NumParts(BreakOff(bundle, AreDead({22}))), 2u);
  EXPECT_EQ(NumPartsSent(BreakOff(bundle, AreDead({22}))), 3u);
  EXPECT_EQ(NumParts(BreakOff(bundle, AreDead({11, 21, 23}))), 1u);
}

TEST(PathBundleTest, WhereNothingOrAllIsDeadNothingBreaksOff) {
  const model::Path bundle = LinksOf({0, 11, 21, 9, 0, 12, 22, 9});
  EXPECT_EQ(BreakOff(bundle, AreDead({5})), bundle);
  EXPECT_EQ(BreakOff(bundle, AreDead({11, 22})), bundle);
  EXPECT_EQ(BreakOff(bundle, AreDead({9})), bundle) << "the link to the GPU";
  EXPECT_EQ(BreakOff(bundle, AreDead({0})), bundle) << "the link to the NIC";
  EXPECT_EQ(BreakOff(LinksOf({0, 11, 21, 9}), AreDead({11})), LinksOf({0, 11, 21, 9})) << "one path";
  EXPECT_EQ(BreakOff({}, AreDead({1})), model::Path());
  EXPECT_EQ(NumParts({}), 1u);
  EXPECT_EQ(NumPartsSent({}), 1u);
}

// Of a flow that is sent again until all has arrived, one packet after the other over the parts in turn, links carry
// what the broken bundle says: the expectation, packet by packet.
TEST(PathBundleTest, LinksCarryWhatIsSentAgainToo) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const auto num_parts = static_cast<uint32_t>(2 + random.Below(6));
    model::Path bundle;
    for (uint32_t part = 0; part < num_parts; ++part) {
      // Links 100.. are shared by several parts.
      const auto up = static_cast<uint32_t>(100 + random.Below(3));
      for (const uint32_t link : {0u, up, 10 + part, 9u}) bundle.emplace_back(link);
    }
    std::map<LinkId, bool> dead;
    for (const LinkId link : bundle) dead[link] = link.value() >= 10 && random.Below(4) == 0;
    const auto is_dead = [&](LinkId link) { return dead[link]; };
    const model::Path broken = BreakOff(bundle, is_dead);
    if (broken == bundle) continue;
    // A round of num_parts packets: each crosses its part up to its first dead link.
    std::map<LinkId, int> crossed;
    int arrived = 0;
    for (const std::span<const LinkId> part : PartsOf(bundle)) {
      size_t hop = 0;
      for (; hop < part.size() && !dead[part[hop]]; ++hop) ++crossed[part[hop]];
      arrived += hop == part.size() ? 1 : 0;
    }
    for (const auto& [link, count] : crossed) {
      EXPECT_DOUBLE_EQ(static_cast<double>(std::ranges::count(broken, link)) / NumParts(broken),
                       static_cast<double>(count) / arrived);
    }
    EXPECT_EQ(std::ranges::count_if(broken, is_dead), 0);
  }
}

}  // namespace
}  // namespace fairlead::traffic
