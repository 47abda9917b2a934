#include "execution/transfer_pattern.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/random.h"

namespace fairlead::execution {
namespace {

using model::RankId;

std::vector<RankId> FirstRanks(uint32_t n) {
  std::vector<RankId> ranks;
  for (uint32_t r = 0; r < n; ++r) ranks.emplace_back(r);
  return ranks;
}

JobShape RandomShape(Random& random) {
  JobShape shape;
  shape.gpus_per_host = 1 + static_cast<uint32_t>(random.Below(8));
  shape.channels = 1 + static_cast<uint32_t>(random.Below(4));
  shape.messages_per_ring_step = 1 + static_cast<uint32_t>(random.Below(7));
  return shape;
}

// With 2 GPUs a host, channel 1 enters hosts at their second GPU: 1 0 | 3 2.
TEST(ChannelOrder, RotatesWithinHosts) {
  JobShape shape;
  shape.gpus_per_host = 2;
  const std::vector<RankId> ranks = FirstRanks(4);
  EXPECT_EQ(ChannelOrder(shape, ranks, 0), (std::vector<MemberIndex>{0, 1, 2, 3}));
  EXPECT_EQ(ChannelOrder(shape, ranks, 1), (std::vector<MemberIndex>{1, 0, 3, 2}));
}

// Each channel is one cycle through all members.
TEST(RingPattern, IsOneCycleForEachChannel) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const JobShape shape = RandomShape(random);
    const uint32_t n = 2 + static_cast<uint32_t>(random.Below(20));
    const TransferPattern pattern = RingPattern(shape, FirstRanks(n));
    ASSERT_EQ(pattern.edges.size(), n * shape.channels);
    for (uint32_t channel = 0; channel < shape.channels; ++channel) {
      std::vector<MemberIndex> next(n, n);
      for (const TransferEdge& edge : pattern.edges) {
        if (edge.channel == channel) next[edge.source] = edge.destination;
      }
      MemberIndex at = 0;
      for (uint32_t i = 1; i < n; ++i) {
        at = next[at];
        EXPECT_NE(at, 0u) << "seed " << seed;
      }
      EXPECT_EQ(next[at], 0u) << "seed " << seed;
    }
  }
}

// n - 1 edges up and as many down, by pairs; a host with several members is left over one edge a channel, at most.
TEST(TreePattern, SpansAllMembersUpAndDown) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    const JobShape shape = RandomShape(random);
    const uint32_t n = 2 + static_cast<uint32_t>(random.Below(20));
    const TransferPattern pattern = TreePattern(shape, FirstRanks(n));
    ASSERT_EQ(pattern.edges.size(), 2 * (n - 1) * shape.channels);
    for (uint32_t channel = 0; channel < shape.channels; ++channel) {
      std::set<std::pair<MemberIndex, MemberIndex>> directed;
      std::set<MemberIndex> reached = {0};
      for (const TransferEdge& edge : pattern.edges) {
        if (edge.channel == channel) directed.insert({edge.source, edge.destination});
      }
      for (uint32_t round = 0; round < n; ++round) {
        for (const auto& [source, destination] : directed) {
          EXPECT_TRUE(directed.contains({destination, source}));
          if (reached.contains(source)) reached.insert(destination);
        }
      }
      EXPECT_EQ(reached.size(), n) << "seed " << seed;
    }
  }
}

TEST(AllToAllPattern, HasEveryPairOnce) {
  JobShape shape;
  const TransferPattern pattern = AllToAllPattern(shape, FirstRanks(7));
  std::set<std::pair<MemberIndex, MemberIndex>> pairs;
  for (const TransferEdge& edge : pattern.edges) pairs.insert({edge.source, edge.destination});
  EXPECT_EQ(pattern.edges.size(), 42u);
  EXPECT_EQ(pairs.size(), 42u);
}

// Assumptions of the simulator: an edge is filled by one stage of its source and taken by one of its destination, and
// with lag 0 the filling stage comes first.
TEST(OpeningPattern, IsAllToAllOnConnectionsOfItsOwn) {
  JobShape shape;
  const std::vector<RankId> ranks = {RankId(0u), RankId(1u), RankId(2u)};
  const TransferPattern all_to_all = AllToAllPattern(shape, ranks);
  const TransferPattern opening = OpeningPattern(shape, ranks);
  ASSERT_EQ(opening.edges.size(), all_to_all.edges.size());
  for (size_t e = 0; e < opening.edges.size(); ++e) {
    EXPECT_EQ(opening.edges[e].source, all_to_all.edges[e].source);
    EXPECT_EQ(opening.edges[e].destination, all_to_all.edges[e].destination);
    EXPECT_EQ(opening.edges[e].channel, all_to_all.edges[e].channel + shape.channels);
  }
}

TEST(TransferPattern, FillsEachEdgeOnceBeforeTakingIt) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    JobShape shape = RandomShape(random);
    shape.algorithm = static_cast<DataParallelAlgorithm>(seed % 4);
    const uint32_t n = 2 + static_cast<uint32_t>(random.Below(12));
    const TransferPattern pattern = DataParallelPattern(shape, FirstRanks(n));
    std::vector<size_t> filled(pattern.edges.size(), ~size_t{0});
    std::vector<size_t> taken(pattern.edges.size(), ~size_t{0});
    std::vector<uint32_t> lag(pattern.edges.size(), 0);
    for (size_t s = 0; s < pattern.stages.size(); ++s) {
      const TransferStage& stage = pattern.stages[s];
      for (const EdgeIndex edge : pattern.Outputs(stage)) {
        EXPECT_EQ(pattern.edges[edge].source, stage.member);
        EXPECT_EQ(filled[edge], ~size_t{0});
        filled[edge] = s;
      }
      for (const EdgeIndex edge : pattern.Inputs(stage)) {
        EXPECT_EQ(pattern.edges[edge].destination, stage.member);
        EXPECT_EQ(taken[edge], ~size_t{0});
        taken[edge] = s;
        lag[edge] = stage.lag;
      }
    }
    for (size_t e = 0; e < pattern.edges.size(); ++e) {
      ASSERT_NE(filled[e], ~size_t{0});
      ASSERT_NE(taken[e], ~size_t{0});
      EXPECT_TRUE(lag[e] > 0 || filled[e] < taken[e]) << "seed " << seed << " edge " << e;
    }
  }
}

}  // namespace
}  // namespace fairlead::execution
