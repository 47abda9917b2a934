#include "traffic/c4p/leaf_epochs.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace fairlead::traffic::c4p {
namespace {

TEST(LeafEpochsTest, EveryChangeIsANewEpoch) {
  LeafEpochs epochs;
  EXPECT_EQ(epochs.Find(NodeId(1)), LeafEpoch());
  EXPECT_EQ(epochs.Advance(NodeId(1), 7), (LeafEpoch{1, 7}));
  EXPECT_EQ(epochs.Advance(NodeId(1), 7), (LeafEpoch{2, 7}));  // by the same next hops, too
  EXPECT_EQ(epochs.Find(NodeId(1)), (LeafEpoch{2, 7}));
  EXPECT_EQ(epochs.Find(NodeId(2)), LeafEpoch());
}

TEST(LeafEpochsTest, DestinationsMayBeCountedApart) {
  LeafEpochs epochs;
  const HashDomain there(NodeId(1), NodeId(2));
  epochs.Set(there, 40, 7);
  EXPECT_EQ(epochs.Find(there), (LeafEpoch{40, 7}));
  EXPECT_EQ(epochs.Advance(there, 8), (LeafEpoch{41, 8}));
  EXPECT_EQ(epochs.Find({NodeId(2), NodeId(1)}), LeafEpoch());
  EXPECT_EQ(epochs.Find(NodeId(1)), LeafEpoch());
}

TEST(LeafEpochsTest, FingerprintIsThatOfASet) {
  const std::vector<LinkId> links = {LinkId(3), LinkId(1), LinkId(2)};
  const std::vector<LinkId> again = {LinkId(1), LinkId(2), LinkId(2), LinkId(3)};
  EXPECT_EQ(NextHopFingerprint(links, 5), NextHopFingerprint(again, 5));
  EXPECT_NE(NextHopFingerprint(links, 5), NextHopFingerprint(links, 6));
}

TEST(LeafEpochsTest, AllSubsetsOfTwelveLinksDiffer) {
  std::set<uint64_t> fingerprints;
  for (uint32_t subset = 0; subset < 1u << 12; ++subset) {
    std::vector<LinkId> links;
    for (uint32_t l = 0; l < 12; ++l) {
      if ((subset >> l & 1) != 0) links.emplace_back(l);
    }
    fingerprints.insert(NextHopFingerprint(links, 0));
  }
  EXPECT_EQ(fingerprints.size(), 1u << 12);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
