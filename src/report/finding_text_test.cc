#include "report/finding_text.h"

#include <gtest/gtest.h>

namespace fairlead::report {
namespace {

using model::Culprit;
using model::CulpritKind;

const CulpritNames kNames = {.host = [](HostId host) { return "node-" + std::to_string(host.value()); },
                             .nic = [](NicId nic) { return "eth" + std::to_string(nic.value()); },
                             .leaf = [](model::LeafId leaf) { return "tor" + std::to_string(leaf.value()); }};

TEST(FindingTextTest, EachKindOfCulpritHasAName) {
  Culprit culprit;
  culprit.rank = model::RankId(5);
  culprit.host = HostId(2);
  EXPECT_EQ(CulpritText(culprit, kNames), "rank 5 on node-2");
  culprit.kind = CulpritKind::kHost;
  EXPECT_EQ(CulpritText(culprit, kNames), "node-2");
  culprit.kind = CulpritKind::kNicSend;
  EXPECT_EQ(CulpritText(culprit, kNames), "NIC send side on node-2") << "which one is not known";
  culprit.nic = NicId(9);
  EXPECT_EQ(CulpritText(culprit, kNames), "NIC send side eth9 on node-2");
  culprit = {};
  culprit.kind = CulpritKind::kConnection;
  culprit.rank = model::RankId(3);
  culprit.peer = model::RankId(4);
  EXPECT_EQ(CulpritText(culprit, kNames), "connection from rank 3 to rank 4");
  culprit.kind = CulpritKind::kLeaf;
  culprit.leaf = model::LeafId(1);
  EXPECT_EQ(CulpritText(culprit, kNames), "leaf tor1");
  culprit.kind = CulpritKind::kPlane;
  culprit.plane = 1;
  EXPECT_EQ(CulpritText(culprit, kNames), "plane 1");
}

TEST(FindingTextTest, EvidenceIsShownBesideItsBaseline) {
  EXPECT_EQ(EvidenceText({"exit code of rank 2", -1, 0, ""}), "exit code of rank 2: -1");
  EXPECT_EQ(EvidenceText({"slow transfers", 1, 0, "pairs of ranks"}), "slow transfers: 1 pair of ranks");
  EXPECT_EQ(EvidenceText({"slow transfers", 2, 0, "pairs of ranks"}), "slow transfers: 2 pairs of ranks");
  EXPECT_EQ(EvidenceText({"delay", 1, 0, "us"}), "delay: 1 us");
  EXPECT_EQ(EvidenceText({"seconds per GB", 0.912, 0.1, "s"}), "seconds per GB: 0.912 s (normal: 0.1)");
}

TEST(FindingTextTest, CostsAreAShareOfTheJobAndGpuHours) {
  model::Finding finding;
  EXPECT_EQ(CostText(finding), "");
  finding.cost_share = 0.11;
  EXPECT_EQ(CostText(finding), "costs 11 % of the job");
  finding.cost_gpu_hours = 0.11 * 1024 * 24;  // 2,703.4
  EXPECT_EQ(CostText(finding), "costs 11 % of the job, 2,703 GPU-hours a day");
}

}  // namespace
}  // namespace fairlead::report
