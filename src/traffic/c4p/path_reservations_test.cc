#include "traffic/c4p/path_reservations.h"

#include <gtest/gtest.h>

#include <vector>

#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

// 4 paths on each of two planes between hosts 0 and 4.
class PathReservationsTest : public ::testing::Test {
 protected:
  topology::Fabric fabric_ = MasterFabric();
  PathCatalogue catalogue_{fabric_};
  ConnectionTable connections_;
  LinkWatch links_{fabric_.num_links(), {}, {}};
  PathReservations paths_{&catalogue_, links_, {}, &connections_};
  const NicId from_{0u};
  const NicId to_{8u};

  std::vector<QueuePairRef> Add(uint64_t name, uint32_t num_queue_pairs) {
    const ConnectionRequest request = {
        .connection = name, .source = from_, .destination = to_, .num_queue_pairs = num_queue_pairs};
    const uint32_t slot = connections_.Add({HostId(0), JobId(1)}, request);
    std::vector<QueuePairRef> refs;
    for (uint32_t q = 0; q < num_queue_pairs; ++q) refs.push_back({slot, q});
    return refs;
  }
  // As a switch reports it.
  void Report(LinkId link, double health) {
    ASSERT_TRUE(links_.Report(SimTime(), {.link = link, .health = health, .source = "switch"}).ok());
    paths_.SetHealth(link, links_.HealthOf(link));
  }
  LinkId PortOf(uint32_t plane) const { return catalogue_.ports(from_)[plane].up; }
  // After rounds of probes.
  void Clear(LinkId link) {
    for (int64_t second = 0; second < 10; ++second) {
      const ProbeResult clean = {.links = {link}, .sent = 1000, .lost = 0, .rtt = Seconds(0), .num_probes = 1};
      links_.Observe(SimTime() + SecondsOf(second), std::vector{clean});
    }
    ASSERT_EQ(links_.state(link), LinkState::kUp);
    paths_.SetHealth(link, links_.HealthOf(link));
  }
  void ExpectOwners(const std::vector<QueuePairRef>& refs) {
    size_t num_held = 0;
    for (const QueuePairRef ref : refs) {
      if (!paths_.HasPath(ref)) continue;
      ++num_held;
      EXPECT_EQ(connections_.OwnerOf(connections_.at(ref).reservation), ref);
      EXPECT_EQ(paths_.Of(ref).queue_pair, ref.queue_pair);
    }
    EXPECT_EQ(paths_.allocator().num_reservations(), num_held);
    EXPECT_EQ(paths_.num_unmanaged(), refs.size() - num_held);
  }
};

TEST_F(PathReservationsTest, OnlyQueuePairsOfALostLinkMove) {
  const auto refs = Add(1, 8);
  EXPECT_EQ(paths_.Place(JobId(1), refs), refs);
  const LinkId lost = paths_.Of(refs[2]).middle()[0];
  Report(lost, 0);
  const PathReservations::Evacuation evacuation = paths_.LeaveLostLinks();
  EXPECT_EQ(evacuation.moved, std::vector{refs[2]}) << "4 queue pairs of a plane on 4 paths: one each";
  EXPECT_TRUE(evacuation.stranded.empty());
  EXPECT_EQ(paths_.num_off_plane(), 0u);
  ExpectOwners(refs);
}

TEST_F(PathReservationsTest, WithoutAPathQueuePairsAreUnmanagedUntilThereIsOne) {
  const auto refs = Add(1, 2);
  paths_.Place(JobId(1), refs);
  for (const uint32_t plane : {0u, 1u}) Report(PortOf(plane), 0);
  const PathReservations::Evacuation evacuation = paths_.LeaveLostLinks();
  EXPECT_TRUE(evacuation.moved.empty());
  EXPECT_EQ(evacuation.stranded, refs);
  ExpectOwners(refs);
  EXPECT_NE(paths_.ExplainNoPath(connections_.at(refs[0].connection).request).find("plane 1: h0/nic0->"),
            std::string::npos);
  EXPECT_TRUE(paths_.RetryUnmanaged().empty());
  Report(PortOf(0), 1);
  EXPECT_EQ(paths_.RetryUnmanaged(), refs) << "on probation it is better than nothing";
  EXPECT_EQ(paths_.num_off_plane(), 1u);
  ExpectOwners(refs);
}

TEST_F(PathReservationsTest, AQueuePairReturnsToItsPlaneWhenThatHasAPathOfFirstChoice) {
  const auto refs = Add(1, 2);
  paths_.Place(JobId(1), refs);
  Report(PortOf(1), 0);
  EXPECT_EQ(paths_.LeaveLostLinks().moved, std::vector{refs[1]});
  EXPECT_EQ(paths_.Of(refs[1]).plane, 0u);
  EXPECT_EQ(paths_.num_off_plane(), 1u);
  Report(PortOf(1), 1);
  EXPECT_TRUE(paths_.ReturnToPlanes().empty()) << "on probation";
  Clear(PortOf(1));
  EXPECT_EQ(paths_.ReturnToPlanes(), std::vector{refs[1]});
  EXPECT_EQ(paths_.Of(refs[1]).plane, 1u);
  EXPECT_EQ(paths_.num_off_plane(), 0u);
  ExpectOwners(refs);
}

TEST_F(PathReservationsTest, AHoldersWordIsTakenWhereThereIsSuchAPath) {
  const auto refs = Add(1, 3);
  EXPECT_TRUE(paths_.Adopt(refs[0], {.is_managed = true, .plane = 0, .path = 3}));
  EXPECT_EQ(paths_.Of(refs[0]).path, 3u);
  EXPECT_FALSE(paths_.Adopt(refs[1], {.is_managed = true, .plane = 1, .path = 4}));
  EXPECT_FALSE(paths_.Adopt(refs[2], {.is_managed = false}));
  ExpectOwners(refs);
  EXPECT_EQ(paths_.RetryUnmanaged(), (std::vector{refs[1], refs[2]}));
  for (const QueuePairRef ref : refs) paths_.Release(ref);
  EXPECT_EQ(paths_.allocator().num_reservations(), 0u);
  EXPECT_EQ(paths_.num_unmanaged(), 0u);
  EXPECT_EQ(paths_.allocator().Imbalance(), 1);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
