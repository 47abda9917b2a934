#include "traffic/c4p/port_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "traffic/c4p/port_map_example.h"
#include "traffic/source_ports.h"

namespace fairlead::traffic::c4p {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = PortAnswer::Kind;

TEST(PortMapTest, FreePortsOfAPathAscending) {
  PortMap map({});
  Learn(&map, Pair(), 50002, 7, 30);
  Learn(&map, Pair(), 50001, 7, 20);
  Learn(&map, Pair(), 50000, 8, 10);
  EXPECT_THAT(map.Candidates(Pair(), 7),
              ElementsAre(PortCandidate{50001, true, SimTime(20)}, PortCandidate{50002, true, SimTime(30)}));
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).kind, Kind::kUse);
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50001);
  ASSERT_TRUE(map.Reserve(Pair(), 50001).ok());
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50002);
  ASSERT_TRUE(map.Release(Pair(), 50001).ok());
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50001);
}

TEST(PortMapTest, EveryPairHasItsOwnTable) {
  PortMap map({});
  Learn(&map, Pair(1, 2), 50000, 7);
  AddressPair tcp = Pair(1, 2);
  tcp.protocol = 6;
  AddressPair other_port = Pair(1, 2);
  other_port.destination_port = 80;
  for (const AddressPair& pair : {Pair(2, 1), Pair(1, 3), tcp, other_port}) {
    EXPECT_THAT(map.Candidates(pair, 7), IsEmpty());
    EXPECT_EQ(map.FindPort(pair, 7, 8).kind, Kind::kScan);
    EXPECT_EQ(map.FindPort(pair, 7, 8).num_ports, 8u);  // k ports on average
  }
}

TEST(PortMapTest, PortsAreUniqueBetweenTwoAddresses) {
  PortMap map({});
  ASSERT_TRUE(map.Reserve(Pair(), 50000).ok());
  EXPECT_EQ(map.Reserve(Pair(), 50000).code(), StatusCode::kAlreadyExists);
  AddressPair other_port = Pair();
  other_port.destination_port = 80;
  EXPECT_THAT(map.Reserve(other_port, 50000).message(), HasSubstr("a live connection holds it"));
  EXPECT_EQ(map.Release(other_port, 50000).code(), StatusCode::kNotFound);
  AddressPair tcp = Pair();
  tcp.protocol = 6;
  EXPECT_TRUE(map.Reserve(tcp, 50000).ok());
  EXPECT_TRUE(map.Reserve(Pair(1, 3), 50000).ok());
  EXPECT_TRUE(map.Release(Pair(), 50000).ok());
  EXPECT_THAT(map.Release(Pair(), 50000).message(), HasSubstr("released twice"));
  EXPECT_TRUE(map.Reserve(other_port, 50000).ok());
  EXPECT_EQ(map.Reserve(Pair(), 50000).code(), StatusCode::kAlreadyExists);
  AddressPair moved = Pair();
  moved.source_leaf = NodeId(9);  // recabled while connections were alive
  EXPECT_EQ(map.Reserve(moved, 50000).code(), StatusCode::kAlreadyExists);
}

TEST(PortMapTest, APortThatASocketHasIsNotOffered) {
  PortMap map({.max_pairs = 1});
  map.AdvanceEpoch(kLeaf, kWhole);
  Learn(&map, Pair(), 50000, 7);
  Learn(&map, Pair(), 50001, 7);
  map.Occupy(Pair(), 50000);
  map.Occupy(Pair(), 50000);  // by another socket, to another port there
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50001);
  EXPECT_THAT(map.PortsToScan(Pair(), 16384), testing::Not(testing::Contains(50000)));
  EXPECT_TRUE(map.Reserve(Pair(), 50000).ok()) << "whose socket it is may use it";
  EXPECT_TRUE(map.Release(Pair(), 50000).ok());
  Learn(&map, Pair(2, 3), 50000, 7);
  EXPECT_FALSE(map.Candidates(Pair(), 7).empty()) << "not evicted while a socket is there";
  map.Vacate(Pair(), 50000);
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50001);
  map.Vacate(Pair(), 50000);
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50000);
}

TEST(PortMapTest, PortsOutsideOfTheRangeAreRefused) {
  PortMap map({});
  for (const uint16_t port : {0, 4791, 49151}) {
    const std::vector<SeenPort> seen = {{50000, 1}, {port, 1}};
    EXPECT_EQ(map.Record(Pair(), seen, 0, SimTime()).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(map.Reserve(Pair(), port).message(), HasSubstr("expected 49152 to 65535, found"));
  }
  EXPECT_EQ(map.num_pairs(), 0u);
  for (const uint16_t port : {49152, 65535}) EXPECT_TRUE(map.Reserve(Pair(), port).ok());
}

TEST(PortMapTest, NothingOfAnOldEpochIsTrue) {
  PortMap map({});
  EXPECT_EQ(map.AdvanceEpoch(kLeaf, kWhole), 1u);
  Learn(&map, Pair(), 50000, 7);
  EXPECT_EQ(map.AdvanceEpoch(kLeaf, kBroken), 2u);
  EXPECT_THAT(map.Candidates(Pair(), 7), IsEmpty());
  // A probe that was on its way when the link broke.
  const SeenPort late = {50000, 7};
  ASSERT_TRUE(map.Record(Pair(), {&late, 1}, 1, SimTime(5)).ok());
  EXPECT_EQ(map.num_stale(), 1u);
  EXPECT_THAT(map.Candidates(Pair(), 7), IsEmpty());
  // Other leaves don't care.
  AddressPair elsewhere = Pair();
  elsewhere.source_leaf = NodeId(5);
  Learn(&map, elsewhere, 50000, 7);
  map.AdvanceEpoch(kLeaf, kWhole + kBroken);
  EXPECT_EQ(map.FindPort(elsewhere, 7, 8).kind, Kind::kUse);
}

TEST(PortMapTest, KnownFingerprintRevivesTheOldMapOnProbation) {
  PortMap map({});
  map.AdvanceEpoch(kLeaf, kWhole);
  Learn(&map, Pair(), 50000, 7, 100);
  Learn(&map, Pair(), 50001, 7, 100);
  map.AdvanceEpoch(kLeaf, kBroken);
  Learn(&map, Pair(), 50000, 3, 200);
  map.AdvanceEpoch(kLeaf, kWhole);
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).kind, Kind::kConfirm);
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).port, 50000);
  // One probe confirms a port, though the clock went back; and a confirmed port goes before a revived one.
  Learn(&map, Pair(), 50001, 7, 50);
  EXPECT_EQ(map.FindPort(Pair(), 7, 8).kind, Kind::kUse);
  EXPECT_THAT(map.Candidates(Pair(), 7),
              ElementsAre(PortCandidate{50001, true, SimTime(50)}, PortCandidate{50000, false, SimTime(100)}));
  // And the broken fabric's map is kept as well.
  map.AdvanceEpoch(kLeaf, kBroken);
  EXPECT_THAT(map.Candidates(Pair(), 3), ElementsAre(PortCandidate{50000, false, SimTime(200)}));
}

TEST(PortMapTest, OneRefutationEndsARevival) {
  PortMap map({});
  map.AdvanceEpoch(kLeaf, kWhole);
  for (uint16_t port = 50000; port < 50010; ++port) Learn(&map, Pair(), port, port % 2u);
  map.AdvanceEpoch(kLeaf, kWhole);  // the switch was replaced: same next hops, another hash
  Learn(&map, Pair(), 50002, 0);
  Learn(&map, Pair(), 50003, 0);
  EXPECT_EQ(map.num_refuted(), 1u);
  EXPECT_THAT(map.Candidates(Pair(), 1), IsEmpty());
  EXPECT_EQ(map.Candidates(Pair(), 0).size(), 2u);  // what this epoch showed stays
  EXPECT_FALSE(map.IsUnstable(Pair()));
}

TEST(PortMapTest, NewestEvidenceWinsAndConflictsMakeAPairUnstable) {
  PortMap map({});
  Learn(&map, Pair(), 50000, 7, 100);
  Learn(&map, Pair(), 50000, 7, 110);
  EXPECT_FALSE(map.IsUnstable(Pair()));
  Learn(&map, Pair(), 50000, 8, 105);  // late
  EXPECT_EQ(map.num_late(), 1u);
  EXPECT_THAT(map.Candidates(Pair(), 8), IsEmpty());
  Learn(&map, Pair(), 50000, 8, 120);
  EXPECT_EQ(map.num_conflicts(), 1u);
  EXPECT_TRUE(map.IsUnstable(Pair()));
  EXPECT_EQ(map.Candidates(Pair(), 8).size(), 1u);
  EXPECT_FALSE(map.IsUnstable(Pair(1, 3)));
  map.AdvanceEpoch(kLeaf, kWhole);
  EXPECT_FALSE(map.IsUnstable(Pair()));
}

TEST(PortMapTest, LeastRecentlyUsedPairGoesButNeverAReservedOne) {
  PortMap map({.max_pairs = 2});
  Learn(&map, Pair(1), 50000, 7);
  ASSERT_TRUE(map.Reserve(Pair(1), 60000).ok());
  Learn(&map, Pair(3), 50000, 7);
  Learn(&map, Pair(4), 50000, 7);
  EXPECT_EQ(map.num_pairs(), 2u);
  EXPECT_THAT(map.Candidates(Pair(3), 7), IsEmpty());
  EXPECT_EQ(map.Candidates(Pair(1), 7).size(), 1u);
  ASSERT_TRUE(map.Reserve(Pair(4), 50000).ok());
  Learn(&map, Pair(5), 50000, 7);  // both others are held: one too many
  EXPECT_EQ(map.num_pairs(), 3u);
  ASSERT_TRUE(map.Release(Pair(1), 60000).ok());  // used just now, so it is pair 5 that goes
  EXPECT_EQ(map.num_pairs(), 2u);
  EXPECT_THAT(map.Candidates(Pair(5), 7), IsEmpty());
  EXPECT_TRUE(map.IsReserved(Pair(4), 50000));
}

TEST(PortMapTest, TableRecordedLongestAgoGivesWay) {
  PortMap map({.max_tables_per_pair = 2});
  for (const uint64_t fingerprint : {1, 2, 1, 3}) {
    map.AdvanceEpoch(kLeaf, fingerprint);
    Learn(&map, Pair(), 50000, 7);
  }
  map.AdvanceEpoch(kLeaf, 2);
  EXPECT_THAT(map.Candidates(Pair(), 7), IsEmpty());
  map.AdvanceEpoch(kLeaf, 1);
  EXPECT_EQ(map.Candidates(Pair(), 7).size(), 1u);
}

TEST(PortMapTest, PortProbedLongestAgoGivesWayUnlessItIsInUse) {
  PortMap map({.max_ports_per_table = 2});
  ASSERT_TRUE(map.Reserve(Pair(), 50001).ok());
  Learn(&map, Pair(), 50001, 7, 1);
  Learn(&map, Pair(), 50002, 7, 2);
  Learn(&map, Pair(), 50003, 7, 3);  // 50001 is older than 50002, but in use
  EXPECT_THAT(map.Candidates(Pair(), 7), ElementsAre(PortCandidate{50003, true, SimTime(3)}));
  ASSERT_TRUE(map.Release(Pair(), 50001).ok());
  EXPECT_EQ(map.Candidates(Pair(), 7).size(), 2u);
}

TEST(PortMapTest, ScansGetEverywhereHoweverFewPortsAreKept) {
  PortMap map({.max_ports_per_table = 4});
  ASSERT_TRUE(map.Reserve(Pair(), 50000).ok());
  std::set<uint16_t> tried;
  for (uint32_t batch = 0; batch < kNumSourcePorts / 64; ++batch) {
    const std::vector<uint16_t> ports = map.PortsToScan(Pair(), 64);
    ASSERT_EQ(ports.size(), 64u);
    tried.insert(ports.begin(), ports.end());
    // By route, as agents tell it: in no order.
    std::vector<SeenPort> seen;
    for (const uint32_t path : {1, 0}) {
      for (const uint16_t port : ports) {
        if (port % 2 == path) seen.push_back({port, path});
      }
    }
    Learn(&map, Pair(), seen, batch);
  }
  // 256 batches of 64 new ports, but for the last, which wraps around once: all free ports.
  EXPECT_EQ(tried.size(), kNumSourcePorts - 1u);
  EXPECT_FALSE(tried.contains(50000));
}

TEST(PortMapTest, KnowsWhenThereIsNothingLeftToTry) {
  PortMap map({.max_ports_per_table = kNumSourcePorts});
  for (uint32_t i = 0; i + 3 < kNumSourcePorts; ++i) Learn(&map, Pair(), SteeringPort(i), 1);
  EXPECT_EQ(map.FindPort(Pair(), 2, 8).kind, Kind::kScan);
  EXPECT_EQ(map.FindPort(Pair(), 2, 8).num_ports, 3u);
  for (uint32_t i = kNumSourcePorts - 3; i < kNumSourcePorts; ++i) Learn(&map, Pair(), SteeringPort(i), 1);
  EXPECT_EQ(map.FindPort(Pair(), 2, 8).kind, Kind::kExhausted);
  EXPECT_THAT(map.PortsToScan(Pair(), 5), IsEmpty());
  // After a return of the fingerprint every port may be tried again.
  map.AdvanceEpoch(kLeaf, 0);
  EXPECT_EQ(map.PortsToScan(Pair(), 5).size(), 5u);
}

TEST(PortMapTest, OptionsNameTheirRange) {
  EXPECT_TRUE(PortMapOptions().Validate().ok());
  EXPECT_THAT(PortMapOptions{.max_pairs = 0}.Validate().message(), HasSubstr("max_pairs: expected >= 1"));
  EXPECT_FALSE(PortMapOptions{.max_tables_per_pair = 0}.Validate().ok());
  EXPECT_FALSE(PortMapOptions{.max_ports_per_table = 0}.Validate().ok());
}

TEST(PortMapTest, KnowsWhereAReservedPortLeadsInThisEpochOnly) {
  PortMap map({});
  map.AdvanceEpoch(kLeaf, kWhole);
  Learn(&map, Pair(), 50'000, 3);
  ASSERT_TRUE(map.Reserve(Pair(), 50'000).ok());
  EXPECT_EQ(map.PathOf(Pair(), 50'000), 3u);
  EXPECT_EQ(map.PathOf(Pair(), 50'001), std::nullopt);
  EXPECT_EQ(map.PathOf(Pair(9), 50'000), std::nullopt);
  map.AdvanceEpoch(kLeaf, kBroken);
  EXPECT_EQ(map.PathOf(Pair(), 50'000), std::nullopt);
  map.AdvanceEpoch(kLeaf, kWhole);  // revived, and not seen yet
  EXPECT_EQ(map.PathOf(Pair(), 50'000), std::nullopt);
}

// Tables towards one leaf are void, those towards another are not; ports are taken whatever the leaves.
TEST(PortMapTest, EpochsMayBeCountedForEachDestination) {
  PortMap map({});
  AddressPair there = Pair(1, 2);
  there.destination_leaf = NodeId(8);
  AddressPair elsewhere = Pair(1, 3);
  elsewhere.destination_leaf = NodeId(9);
  for (const AddressPair& pair : {there, elsewhere}) {
    map.SetEpoch(pair.domain(), 100, kWhole);
    const SeenPort seen = {50'000, 3};
    ASSERT_TRUE(map.Record(pair, {&seen, 1}, 100, SimTime(0)).ok());
  }
  map.SetEpoch(there.domain(), 107, kBroken);
  EXPECT_EQ(map.EpochOf(there.domain()), 107u);
  EXPECT_TRUE(map.Candidates(there, 3).empty());
  EXPECT_EQ(map.Candidates(elsewhere, 3).size(), 1u);
  ASSERT_TRUE(map.Reserve(there, 50'000).ok());
  AddressPair recabled = there;
  recabled.destination_leaf = NodeId(1);
  EXPECT_TRUE(map.IsReserved(recabled, 50'000));
}

}  // namespace
}  // namespace fairlead::traffic::c4p
