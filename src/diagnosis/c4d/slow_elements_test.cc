#include "diagnosis/c4d/slow_elements.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "diagnosis/c4d/job_example.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::CulpritKind;
using model::JobLayout;
using model::RankId;

// Transfers of the pairs on each plane; those for which `is_slow` are slow, the others healthy.
std::vector<Transfer> MakeTransfers(const std::vector<std::pair<uint32_t, uint32_t>>& pairs, uint32_t num_planes,
                                    const std::function<bool(uint32_t, uint32_t, uint32_t)>& is_slow) {
  std::vector<Transfer> transfers;
  for (const auto& [source, destination] : pairs) {
    for (uint32_t plane = 0; plane < num_planes; ++plane) {
      const auto health = is_slow(source, destination, plane) ? TransferHealth::kSlow : TransferHealth::kHealthy;
      transfers.push_back({RankId(source), RankId(destination), plane, health});
    }
  }
  std::sort(transfers.begin(), transfers.end(), [](const Transfer& a, const Transfer& b) {
    return std::tie(a.source, a.destination, a.plane) < std::tie(b.source, b.destination, b.plane);
  });
  return transfers;
}

// One ring for each GPU index, over all hosts, in order of hosts.
std::vector<std::pair<uint32_t, uint32_t>> Rings(uint32_t hosts, uint32_t gpus, uint32_t stride = 1) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t h = 0; h < hosts; ++h) {
    for (uint32_t g = 0; g < gpus; ++g) pairs.emplace_back(h * gpus + g, (h + stride) % hosts * gpus + g);
  }
  return pairs;
}

TEST(SlowElementsTest, InARingEitherEndMayBeAtFault) {
  const JobLayout layout = MakeExampleLayout({.hosts = 6, .gpus = 2, .hosts_per_leaf = 3});
  const NetworkElements elements(layout);
  const auto found =
      elements.Explain(MakeTransfers(Rings(6, 2), 1, [](uint32_t y, uint32_t, uint32_t) { return y == 4; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kConnection);
  EXPECT_EQ(found[0].culprit.rank, RankId(4));
  EXPECT_EQ(found[0].culprit.peer, RankId(6));
}

TEST(SlowElementsTest, RingsOfTwoOrdersTellTheEnd) {
  const JobLayout layout = MakeExampleLayout({.hosts = 7, .gpus = 2, .hosts_per_leaf = 4});
  const NetworkElements elements(layout);
  std::vector<std::pair<uint32_t, uint32_t>> pairs = Rings(7, 2);
  for (const auto& pair : Rings(7, 2, 3)) pairs.push_back(pair);
  auto found = elements.Explain(MakeTransfers(pairs, 1, [](uint32_t y, uint32_t, uint32_t) { return y == 4; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kNicSend);
  EXPECT_EQ(found[0].culprit.nic, layout.ranks[4].nic);
  EXPECT_EQ(found[0].hits, 2u);
  found = elements.Explain(MakeTransfers(pairs, 1, [](uint32_t, uint32_t x, uint32_t) { return x == 4; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kNicReceive);
  found = elements.Explain(MakeTransfers(pairs, 1, [](uint32_t y, uint32_t x, uint32_t) { return y == 4 || x == 4; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kNic);
  EXPECT_EQ(found[0].culprit.host, HostId(2));
}

TEST(SlowElementsTest, HostsLeavesAndPlanes) {
  const JobLayout layout = MakeExampleLayout({.hosts = 8, .gpus = 2, .hosts_per_leaf = 3, .planes = 2});
  const NetworkElements elements(layout);
  const auto host_of = [&](uint32_t rank) { return layout.ranks[rank].host; };
  const auto touches_host = [&](uint32_t y, uint32_t x, uint32_t) {
    return host_of(y) == HostId(1) || host_of(x) == HostId(1);
  };
  auto found = elements.Explain(MakeTransfers(Rings(8, 2), 2, touches_host));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kHost);
  EXPECT_EQ(found[0].culprit.host, HostId(1));

  const model::LeafId leaf = layout.ranks[6].leaves[1];
  const auto touches_leaf = [&](uint32_t y, uint32_t x, uint32_t plane) {
    return layout.ranks[y].leaves[plane] == leaf || layout.ranks[x].leaves[plane] == leaf;
  };
  found = elements.Explain(MakeTransfers(Rings(8, 2), 2, touches_leaf));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kLeaf);
  EXPECT_EQ(found[0].culprit.leaf, leaf);

  found =
      elements.Explain(MakeTransfers(Rings(8, 2), 2, [](uint32_t, uint32_t, uint32_t plane) { return plane == 1; }));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprit.kind, CulpritKind::kPlane);
  EXPECT_EQ(found[0].culprit.plane, 1u);
}

TEST(SlowElementsTest, OfTwoHostsThatExplainTheSameNeitherIsNamed) {
  // Two hosts under leaves of their own: everything between them is slow, everything passes both.
  const JobLayout layout = MakeExampleLayout({.hosts = 2, .gpus = 2, .hosts_per_leaf = 1});
  const NetworkElements elements(layout);
  for (const SlowElement& element :
       elements.Explain(MakeTransfers(Rings(2, 2), 1, [](uint32_t, uint32_t, uint32_t) { return true; }))) {
    EXPECT_NE(element.culprit.kind, CulpritKind::kHost);
    EXPECT_NE(element.culprit.kind, CulpritKind::kLeaf);
    EXPECT_NE(element.culprit.kind, CulpritKind::kNic);
  }
}

TEST(SlowElementsTest, EverySlowTransferIsExplainedOnce) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const auto hosts = static_cast<uint32_t>(2 + random.Below(6));
    const auto planes = static_cast<uint32_t>(1 + random.Below(2));
    const JobLayout layout = MakeExampleLayout({.hosts = hosts, .gpus = 2, .hosts_per_leaf = 2, .planes = planes});
    auto transfers =
        MakeTransfers(Rings(hosts, 2), planes, [&](uint32_t, uint32_t, uint32_t) { return random.Below(3) == 0; });
    std::vector<int> explained(transfers.size(), 0);
    for (const SlowElement& element : NetworkElements(layout).Explain(transfers)) {
      EXPECT_FALSE(element.transfers.empty());
      for (const uint32_t i : element.transfers) ++explained[i];
    }
    for (size_t i = 0; i < transfers.size(); ++i) {
      EXPECT_EQ(explained[i], transfers[i].health == TransferHealth::kSlow ? 1 : 0);
    }
  }
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
