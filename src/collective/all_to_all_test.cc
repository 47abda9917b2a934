#include "collective/all_to_all.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/random.h"

namespace fairlead::collective {
namespace {

using Matrix = std::map<std::pair<GpuId, GpuId>, double>;

Matrix BytesBetween(const FlowSet& set) {
  Matrix bytes;
  for (const auto& flow : set.flows) bytes[{flow.source, flow.destination}] += flow.bytes.value();
  return bytes;
}

// Piece by piece, the slow way: where each of the n^2 pieces goes, one hop or two.
Matrix RouteEveryPiece(const Communicator& ranks, double piece) {
  Matrix bytes;
  for (const RankPlace& source : ranks) {
    for (const RankPlace& destination : ranks) {
      if (source.gpu == destination.gpu) continue;
      GpuId at = source.gpu;
      for (const RankPlace& relay : ranks) {
        const bool changes_rail = source.host != destination.host && relay.host == source.host &&
                                  relay.local_index == destination.local_index && relay.gpu != source.gpu;
        if (!changes_rail) continue;
        bytes[{at, relay.gpu}] += piece;
        at = relay.gpu;
      }
      bytes[{at, destination.gpu}] += piece;
    }
  }
  return bytes;
}

Communicator RandomPartOfACluster(Random& random) {
  Communicator ranks;
  for (const RankPlace& rank : MakeRegularLayout(5, 4).ranks) {
    if (random.Below(3) != 0) ranks.push_back(rank);
  }
  random.Shuffle(std::span(ranks));
  return ranks;
}

TEST(AllToAllTest, EveryRankHasAPieceForEveryOther) {
  FlowSet set;
  AppendAllToAll(MakeRegularLayout(2, 3).ranks, Bytes(60), set);
  EXPECT_EQ(set.flows.size(), 30u);  // 6 * 5
  EXPECT_EQ(set.num_groups, 30u);
  for (const auto& [pair, bytes] : BytesBetween(set)) EXPECT_DOUBLE_EQ(bytes, 10);  // 60 / 6
}

TEST(RailAllToAllTest, AgreesWithRoutingEveryPieceEvenOnPartsOfHosts) {
  Random random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const Communicator ranks = RandomPartOfACluster(random);
    if (ranks.size() < 2) continue;
    FlowSet set;
    AppendRailAllToAll(ranks, Bytes(static_cast<double>(ranks.size())), set);
    EXPECT_EQ(BytesBetween(set), RouteEveryPiece(ranks, 1));  // whole numbers: sums are exact
    EXPECT_EQ(set.flows.size(), BytesBetween(set).size());    // one flow a pair
  }
}

// h = 4 hosts, g = 8: n (g-1) + n (h-1) = 32*7 + 32*3 = 320 flows instead of 32*31 = 992; on the network a rank sends
// what its host has for 3 ranks: 3 * 8 pieces of S/32 = 24/32 S, as with direct flows.
TEST(RailAllToAllTest, FewerFlowsAndTheSameNetworkBytes) {
  FlowSet set;
  AppendRailAllToAll(MakeRegularLayout(4, 8).ranks, Bytes(32), set);
  EXPECT_EQ(set.flows.size(), 320u);
  std::map<uint32_t, double> network_bytes;
  for (const auto& flow : set.flows) {
    if (flow.source.value() / 8 == flow.destination.value() / 8) continue;
    EXPECT_EQ(flow.source.value() % 8, flow.destination.value() % 8);
    network_bytes[flow.source.value()] += flow.bytes.value();
  }
  ASSERT_EQ(network_bytes.size(), 32u);
  for (const auto& [gpu, bytes] : network_bytes) EXPECT_DOUBLE_EQ(bytes, 24);
}

}  // namespace
}  // namespace fairlead::collective
