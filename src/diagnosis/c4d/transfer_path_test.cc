#include "diagnosis/c4d/transfer_path.h"

#include <gtest/gtest.h>

#include <vector>

#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::RankId;

// From rank 1 (host 0) to rank 6 (host 3) on plane 1.
class TransferPathTest : public ::testing::Test {
 protected:
  bool Passes(const Culprit& culprit) const { return IsPassedBy(layout_, transfer_, culprit); }
  bool Accuses(const Culprit& culprit) const { return IsAccusedBy(layout_, transfer_, culprit); }
  static Culprit OfNic(CulpritKind kind, uint32_t nic) {
    Culprit culprit;
    culprit.kind = kind;
    culprit.nic = NicId(nic);
    return culprit;
  }
  static Culprit OfPair(uint32_t rank, uint32_t peer) {
    Culprit culprit;
    culprit.kind = CulpritKind::kConnection;
    culprit.rank = RankId(rank);
    culprit.peer = RankId(peer);
    return culprit;
  }

  const model::JobLayout layout_ = MakeExampleLayout({.hosts = 4, .gpus = 2, .hosts_per_leaf = 2, .planes = 2});
  const Transfer transfer_{.source = RankId(1u), .destination = RankId(6u), .plane = 1};
};

// Acknowledgements pass the other side of each NIC.
TEST_F(TransferPathTest, BothSidesOfANicArePassedOneIsAccused) {
  for (const CulpritKind kind : {CulpritKind::kNicSend, CulpritKind::kNicReceive, CulpritKind::kNic}) {
    EXPECT_TRUE(Passes(OfNic(kind, 1)));
    EXPECT_TRUE(Passes(OfNic(kind, 6)));
    EXPECT_FALSE(Passes(OfNic(kind, 2)));
    EXPECT_EQ(Accuses(OfNic(kind, 1)), kind != CulpritKind::kNicReceive);
    EXPECT_EQ(Accuses(OfNic(kind, 6)), kind != CulpritKind::kNicSend);
    EXPECT_FALSE(Accuses(OfNic(kind, 2)));
  }
  Culprit unknown_nic;
  unknown_nic.kind = CulpritKind::kNicSend;
  unknown_nic.rank = RankId(1u);
  EXPECT_TRUE(Accuses(unknown_nic)) << "told by its rank";
  unknown_nic.rank = RankId(6u);
  EXPECT_TRUE(Passes(unknown_nic));
  EXPECT_FALSE(Accuses(unknown_nic));
}

TEST_F(TransferPathTest, AConnectionIsPassedBothWays) {
  EXPECT_TRUE(Passes(OfPair(1, 6)));
  EXPECT_TRUE(Passes(OfPair(6, 1)));
  EXPECT_FALSE(Passes(OfPair(1, 5)));
  EXPECT_TRUE(Accuses(OfPair(1, 6)));
  EXPECT_FALSE(Accuses(OfPair(6, 1)));
}

TEST_F(TransferPathTest, HostsLeavesAndPlanes) {
  Culprit culprit;
  culprit.kind = CulpritKind::kHost;
  for (uint32_t host = 0; host < 4; ++host) {
    culprit.host = HostId(host);
    EXPECT_EQ(Passes(culprit), host == 0 || host == 3);
  }
  culprit.kind = CulpritKind::kPlane;
  culprit.plane = 1;
  EXPECT_TRUE(Accuses(culprit));
  culprit.plane = 0;
  EXPECT_FALSE(Passes(culprit));
  culprit.kind = CulpritKind::kLeaf;
  culprit.leaf = layout_.ranks[6].leaves[1];
  EXPECT_TRUE(Accuses(culprit));
  culprit.leaf = layout_.ranks[6].leaves[0];
  EXPECT_FALSE(Passes(culprit)) << "of the other plane";
  EXPECT_FALSE(IsPassedByOneOf(layout_, transfer_, std::vector<Culprit>{}));
  EXPECT_TRUE(IsPassedByOneOf(layout_, transfer_, std::vector<Culprit>{culprit, OfPair(1, 6)}));
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
