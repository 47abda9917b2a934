#include "sim/domain_network.h"

#include <gtest/gtest.h>

#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

TEST(DomainNetworkTest, VariablesShareTheLinkUntilTheyEnd) {
  OneLink link(100);
  link.Add(1, 1, 50);
  link.Add(1, 1, 100);
  DomainNetwork network(link.Layout(), {0, 0}, nullptr);
  const FluidVariable& first = network.VariablesOf(0, 0).front();
  const FluidVariable& second = network.VariablesOf(1).front();
  EXPECT_EQ(network.NextEndNs(), kNeverNs);
  network.Start(first, first.bytes);
  network.Start(second, second.bytes);
  EXPECT_EQ(network.Rate(first), 50);
  ASSERT_NE(network.FindBottleneck(first), nullptr);
  EXPECT_EQ(network.FindBottleneck(first)->link, LinkId(0));
  EXPECT_EQ(network.NextEndNs(), kSecondNs);
  EXPECT_EQ(network.num_sending(0), 1u);
  const auto ended = network.AdvanceTo(kSecondNs);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(&network.variable(ended[0].index()), &first);
  EXPECT_TRUE(network.TakeEnd(first));
  EXPECT_EQ(network.num_sending(0), 0u);
  EXPECT_FALSE(network.IsSending(first));
  EXPECT_EQ(network.Rate(second), 100);
  EXPECT_EQ(network.Left(second), 50);
}

TEST(DomainNetworkTest, AVariableThatIsHeldByNoContendedLinkHasNoBottleneck) {
  OneLink link(100);
  link.Add(1, 1, 50);
  link.sharing.contended_links.clear();
  DomainNetwork network(link.Layout(), {0}, nullptr);
  network.Start(network.variable(0), 50);
  EXPECT_EQ(network.Rate(network.variable(0)), 100);
  EXPECT_EQ(network.FindBottleneck(network.variable(0)), nullptr);
}

TEST(DomainNetworkTest, LocalLevelsKeepTheOrderWithoutGaps) {
  OneLink link(100);
  std::vector<uint32_t> sorted;
  for (const uint32_t level : {7u, 3u, 7u, 90u}) link.Add(1, 1, 50).level = level;
  EXPECT_EQ(ComputeLocalLevels(link.jobs), (std::vector<uint32_t>{1, 0, 1, 2}));
  // 70 levels: the network takes 64, so the last seven are one.
  OneLink many(100);
  for (uint32_t level = 0; level < 70; ++level) many.Add(1, 1, 50).level = 2 * level;
  const std::vector<uint32_t> local = ComputeLocalLevels(many.jobs);
  EXPECT_EQ(local[62], 62u);
  EXPECT_EQ(local[63], 63u);
  EXPECT_EQ(local[69], 63u);
}

}  // namespace
}  // namespace fairlead::sim
