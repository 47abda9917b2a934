#include "traffic/c4p/path_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"

namespace fairlead::traffic::c4p {
namespace {

using topology::Fabric;
using topology::LinkTier;

// Hosts with one NIC of one port.
topology::HostSpec OneNic() {
  return {.gpus = 1, .sockets = 1, .pcie_switches = 1, .nics = 1, .port_speed = GigabitsPerSecond(100)};
}

Fabric TwoLayers(uint32_t leaves, uint32_t hosts_per_leaf, uint32_t spines) {
  return topology::BuildClos({.leaves = leaves, .hosts_per_leaf = hosts_per_leaf, .spines = spines, .host = OneNic()})
      .value();
}

// 16 hosts in two segments, 8 leaves, 8 spines that serve both planes: C4, section 6 (32 ports of 200 Gb/s below a
// leaf, 8 uplinks of 800 Gb/s above it).
Fabric C4Testbed() {
  return topology::BuildRail({.segments = 2,
                              .hosts_per_segment = 8,
                              .rails_per_leaf = 4,
                              .spines = 8,
                              .shared_planes = true,
                              .leaf_uplink = {.speed = GigabitsPerSecond(800)}})
      .value();
}

using Batch = std::vector<QueuePairRequest>;

// Adds the queue pairs of a connection between two hosts.
void Connect(const Fabric& fabric, uint32_t from_host, uint32_t to_host, uint64_t connection, Batch* batch,
             uint32_t num_queue_pairs = 1, uint32_t nic = 0) {
  for (uint32_t q = 0; q < num_queue_pairs; ++q) {
    batch->push_back({.connection = connection,
                      .queue_pair = q,
                      .num_queue_pairs = num_queue_pairs,
                      .source = fabric.nic(HostId(from_host), nic),
                      .destination = fabric.nic(HostId(to_host), nic)});
  }
}

// 8 hosts of the first segment send to the second over all NICs and both ports: 32 flows leave each of 4 leaves.
Batch AllRails(const Fabric& fabric) {
  Batch batch;
  for (uint32_t h = 0; h < 8; ++h) {
    for (uint32_t nic = 0; nic < 8; ++nic) Connect(fabric, h, h + 8, h * 8 + nic, &batch, 2, nic);
  }
  return batch;
}

// The most that an even spread would put on a link, for equal weights of 1: over all leaves and directions.
void ExpectWithinOneFlow(const PathAllocator& allocator, const std::string& where = "") {
  const PathCatalogue& catalogue = allocator.catalogue();
  for (size_t l = 0; l < catalogue.fabric().num_links(); ++l) {
    const LinkId link(l);
    if (catalogue.fabric().tier(link) != LinkTier::kLeafSpine || catalogue.health(link) == 0) continue;
    double sum = 0;
    double count = 0;
    for (const LinkId sibling : catalogue.Siblings(link)) {
      if (catalogue.health(sibling) == 0) continue;
      sum += allocator.load(sibling);
      ++count;
    }
    EXPECT_LE(allocator.load(link), std::ceil(sum / count)) << where << " " << catalogue.fabric().LinkName(link);
  }
}

TEST(PathAllocatorTest, QueuePairsOfAConnectionSpreadOverThePaths) {
  const Fabric fabric = TwoLayers(2, 1, 4);
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  Batch batch;
  Connect(fabric, 0, 1, 0, &batch, 4);
  const auto ids = allocator.Allocate(JobId(0), batch);
  std::set<uint32_t> paths;
  for (const ReservationId id : ids) paths.insert(allocator.reservation(id).path);
  EXPECT_EQ(paths.size(), 4u);
  EXPECT_EQ(allocator.Imbalance(), 1);
}

TEST(PathAllocatorTest, LeftGoesLeftAndRightGoesRight) {
  const Fabric fabric = C4Testbed();
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  for (const ReservationId id : allocator.Allocate(JobId(0), AllRails(fabric))) {
    const Reservation& mine = allocator.reservation(id);
    EXPECT_EQ(mine.plane, mine.queue_pair);
    EXPECT_EQ(mine.links[0], catalogue.ports(mine.source)[mine.plane].up);
    EXPECT_EQ(mine.links[mine.num_links - 1], catalogue.ports(mine.destination)[mine.plane].down);
  }
  EXPECT_EQ(allocator.Imbalance(), 1);
  ExpectWithinOneFlow(allocator);
}

TEST(PathAllocatorTest, SingleQueuePairsTakeTheEmptierPort) {
  const Fabric fabric = C4Testbed();
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  Batch batch;
  for (uint64_t c = 0; c < 6; ++c) Connect(fabric, 0, 8 + static_cast<uint32_t>(c), c, &batch);
  std::map<uint32_t, int> per_plane;
  for (const ReservationId id : allocator.Allocate(JobId(0), batch)) ++per_plane[allocator.reservation(id).plane];
  EXPECT_EQ(per_plane[0], 3);
  EXPECT_EQ(per_plane[1], 3);
}

// Every permutation of hosts is a set of flows that a non-blocking fabric carries without sharing: 1 flow per link.
TEST(PathAllocatorTest, PermutationsFillANonBlockingFabricExactly) {
  const Fabric fabric = TwoLayers(6, 4, 4);
  Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<uint32_t> to(24);
    for (uint32_t i = 0; i < 24; ++i) to[i] = i;
    random.Shuffle(std::span<uint32_t>(to));
    PathCatalogue catalogue(fabric);
    PathAllocator allocator(&catalogue);
    Batch batch;
    for (uint32_t h = 0; h < 24; ++h) {
      if (h != to[h]) Connect(fabric, h, to[h], h, &batch);
    }
    allocator.Allocate(JobId(0), batch);
    for (size_t l = 0; l < fabric.num_links(); ++l) {
      if (fabric.tier(LinkId(l)) != LinkTier::kLeafSpine) continue;
      EXPECT_LE(allocator.load(LinkId(l)), 1) << trial;
    }
  }
}

// Any demand, any sizes: the rounded-up average of each leaf (Koenig).
TEST(PathAllocatorTest, BatchesOnAnEmptyFabricReachTheRoundedAverage) {
  Random random(11);
  for (int trial = 0; trial < 200; ++trial) {
    const auto leaves = static_cast<uint32_t>(2 + random.Below(6));
    const auto hosts = static_cast<uint32_t>(1 + random.Below(5));
    const Fabric fabric = TwoLayers(leaves, hosts, static_cast<uint32_t>(1 + random.Below(7)));
    PathCatalogue catalogue(fabric);
    PathAllocator allocator(&catalogue);
    Batch batch;
    const uint64_t num_connections = random.Below(120);
    for (uint64_t c = 0; c < num_connections; ++c) {
      const auto from = static_cast<uint32_t>(random.Below(uint64_t{leaves} * hosts));
      const auto to = static_cast<uint32_t>(random.Below(uint64_t{leaves} * hosts));
      if (from != to) Connect(fabric, from, to, c, &batch, static_cast<uint32_t>(1 + random.Below(4)));
    }
    allocator.Allocate(JobId(0), batch);
    ExpectWithinOneFlow(allocator, "trial " + std::to_string(trial));
  }
}

TEST(PathAllocatorTest, HeavyQueuePairsAreSpreadFirst) {
  const Fabric fabric = TwoLayers(2, 8, 2);
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  Batch batch;
  for (uint32_t h = 0; h < 8; ++h) {
    Connect(fabric, h, 8 + h, h, &batch);
    batch.back().weight = h < 6 ? 1 : 3;  // the heavy ones come last
  }
  allocator.Allocate(JobId(0), batch);
  for (const LinkId link : catalogue.Siblings(allocator.reservation(ReservationId(0u)).links[1])) {
    EXPECT_EQ(allocator.load(link), 6);
  }
}

TEST(PathAllocatorTest, FasterLinksCarryMore) {
  Fabric fabric = TwoLayers(2, 6, 2);
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  const LinkId slow = fabric.FindLink("leaf0->spine0");
  allocator.SetHealth(slow, 0.5);
  Batch batch;
  for (uint32_t h = 0; h < 6; ++h) Connect(fabric, h, 6 + h, h, &batch);
  allocator.Allocate(JobId(0), batch);
  EXPECT_EQ(allocator.load(slow), 2);
  EXPECT_EQ(allocator.load(fabric.FindLink("leaf0->spine1")), 4);
}

// C4's failure: 32 QPs on 8 uplinks, one is lost: its 4 move, no other does, and no link has more than 5.
TEST(PathAllocatorTest, AFailureMovesOnlyTheFlowsOfTheLink) {
  const Fabric fabric = C4Testbed();
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  const std::vector<ReservationId> ids = allocator.Allocate(JobId(0), AllRails(fabric));
  const LinkId lost = allocator.reservation(ids[0]).links[1];
  std::map<ReservationId, std::vector<LinkId>> before;
  for (const ReservationId id : ids) {
    const auto route = allocator.reservation(id).route();
    before[id] = {route.begin(), route.end()};
  }
  allocator.SetHealth(lost, 0);
  std::vector<ReservationId> stranded;
  const std::vector<ReservationId> moved = allocator.MoveOffUnhealthyLinks(&stranded);
  EXPECT_TRUE(stranded.empty());
  EXPECT_EQ(moved.size(), 4u);
  for (const ReservationId id : ids) {
    const auto route = allocator.reservation(id).route();
    const std::vector<LinkId> now(route.begin(), route.end());
    const bool was_on_it = std::find(before[id].begin(), before[id].end(), lost) != before[id].end();
    EXPECT_EQ(now != before[id], was_on_it);
    EXPECT_TRUE(catalogue.IsUsable(route));
  }
  for (const LinkId sibling : catalogue.Siblings(lost)) EXPECT_LE(allocator.load(sibling), 5);
  // The link comes back: as many flows as an even spread gives it, and no more.
  allocator.SetHealth(lost, 1);
  EXPECT_EQ(allocator.BalanceAll().size(), 4u);
  EXPECT_EQ(allocator.load(lost), 4);
  EXPECT_TRUE(allocator.BalanceAll().empty());
}

// Half of an uplink's capacity is lost, while every other link carries exactly its share of 4: none has room. Its leaf
// has 7.5 uplinks for 32 QPs, so 4.27 are fair: it has 4 / 0.5 = 8, 1.9 times that. A QP more makes 5 of 4 at the far
// leaf, 1.25: better than 1.9, and than 3 / 0.5 = 6 of 4.27 (1.4); with 2 the slow link has less than is fair.
TEST(PathAllocatorTest, ASlowLinkGivesAwayWhatItCannotCarry) {
  const Fabric fabric = C4Testbed();
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  const std::vector<ReservationId> ids = allocator.Allocate(JobId(0), AllRails(fabric));
  const LinkId slow = allocator.reservation(ids[0]).links[1];
  allocator.SetHealth(slow, 0.5);
  EXPECT_EQ(allocator.BalanceAll().size(), 2u);
  EXPECT_EQ(allocator.load(slow), 2);
  EXPECT_DOUBLE_EQ(allocator.Imbalance(), 1.25);
  EXPECT_TRUE(allocator.BalanceAll().empty());
}

TEST(PathAllocatorTest, WithoutAHealthyPathTheAnswerIsNo) {
  const Fabric fabric = TwoLayers(2, 1, 2);
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  Batch batch;
  Connect(fabric, 0, 1, 0, &batch);
  const ReservationId held = allocator.Allocate(JobId(0), batch)[0];
  allocator.SetHealth(fabric.FindLink("leaf0->spine0"), 0);
  allocator.SetHealth(fabric.FindLink("spine1->leaf1"), 0);
  EXPECT_FALSE(allocator.Allocate(JobId(1), batch)[0].valid());
  std::vector<ReservationId> stranded;
  EXPECT_TRUE(allocator.MoveOffUnhealthyLinks(&stranded).empty());
  EXPECT_EQ(stranded, std::vector<ReservationId>{held});
  EXPECT_EQ(allocator.num_reservations(), 1u);
}

TEST(PathAllocatorTest, ALostPortMovesItsQueuePairsToTheOtherPlane) {
  const Fabric fabric = C4Testbed();
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  Batch batch;
  Connect(fabric, 0, 8, 0, &batch, 2);
  const auto ids = allocator.Allocate(JobId(0), batch);
  allocator.SetHealth(catalogue.ports(batch[0].source)[0].up, 0);
  std::vector<ReservationId> stranded;
  EXPECT_EQ(allocator.MoveOffUnhealthyLinks(&stranded), std::vector<ReservationId>{ids[0]});
  EXPECT_EQ(allocator.reservation(ids[0]).plane, 1u);
}

TEST(PathAllocatorTest, AdoptedReservationsGiveTheSameLoads) {
  const Fabric fabric = C4Testbed();
  PathCatalogue catalogue(fabric);
  PathAllocator first(&catalogue);
  Batch batch;
  for (uint32_t h = 0; h < 8; ++h) Connect(fabric, h, h + 8, h, &batch, 4, h);
  const auto ids = first.Allocate(JobId(3), batch);
  PathAllocator second(&catalogue);
  for (size_t i = 0; i < ids.size(); ++i) {
    const Reservation& mine = first.reservation(ids[i]);
    const ReservationId adopted = second.Adopt(JobId(3), batch[i], mine.route());
    ASSERT_TRUE(adopted.valid());
    EXPECT_EQ(second.reservation(adopted).path, mine.path);
    EXPECT_EQ(second.reservation(adopted).plane, mine.plane);
  }
  for (size_t l = 0; l < fabric.num_links(); ++l) EXPECT_EQ(first.load(LinkId(l)), second.load(LinkId(l)));
  // From left to right is no path.
  std::vector<LinkId> crossing(first.reservation(ids[0]).route().begin(), first.reservation(ids[0]).route().end());
  crossing.back() = catalogue.ports(batch[0].destination)[1].down;
  EXPECT_FALSE(second.Adopt(JobId(4), batch[0], crossing).valid());
  EXPECT_FALSE(second.Adopt(JobId(4), batch[0], {}).valid());
}

// Random requests, releases, failures and repairs. Section 12.2: the greatest load stays within one flow of the
// optimum, and nothing leaks.
TEST(PathAllocatorTest, RandomEventsKeepBalanceAndLeakNothing) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Random random(seed);
    const Fabric fabric = TwoLayers(5, 4, 6);
    PathCatalogue catalogue(fabric);
    PathAllocator allocator(&catalogue);
    std::map<uint32_t, std::vector<ReservationId>> jobs;
    std::vector<LinkId> uplinks;
    for (size_t l = 0; l < fabric.num_links(); ++l) {
      if (fabric.tier(LinkId(l)) == LinkTier::kLeafSpine) uplinks.emplace_back(l);
    }
    for (uint32_t event = 0; event < 400; ++event) {
      const double kind = random.Uniform();
      if (kind < 0.4) {
        Batch batch;
        for (uint64_t c = 0; c < 1 + random.Below(8); ++c) {
          const auto from = static_cast<uint32_t>(random.Below(20));
          const auto to = static_cast<uint32_t>((from + 1 + random.Below(19)) % 20);
          Connect(fabric, from, to, c, &batch, static_cast<uint32_t>(1 + random.Below(3)));
        }
        jobs[event] = allocator.Allocate(JobId(event), batch);
      } else if (kind < 0.8 && !jobs.empty()) {
        const auto gone = std::next(jobs.begin(), static_cast<ptrdiff_t>(random.Below(jobs.size())));
        for (const ReservationId id : gone->second) {
          if (id.valid()) allocator.Release(id);
        }
        jobs.erase(gone);
      } else {
        const LinkId link = uplinks[random.Below(uplinks.size())];
        allocator.SetHealth(link, catalogue.health(link) > 0 && random.Uniform() < 0.3 ? 0 : 1);
        std::vector<ReservationId> stranded;
        allocator.MoveOffUnhealthyLinks(&stranded);
      }
      allocator.BalanceAll();
      // What is held is what was given, on usable paths unless it is stranded.
      size_t held = 0;
      for (const auto& [job, ids] : jobs) {
        held += static_cast<size_t>(std::count_if(ids.begin(), ids.end(), [](ReservationId id) { return id.valid(); }));
      }
      ASSERT_EQ(allocator.num_reservations(), held);
    }
    for (const LinkId link : uplinks) allocator.SetHealth(link, 1);
    std::vector<ReservationId> stranded;
    allocator.MoveOffUnhealthyLinks(&stranded);
    allocator.BalanceAll();
    EXPECT_TRUE(stranded.empty());
    ExpectWithinOneFlow(allocator, "seed " + std::to_string(seed));
    for (const auto& [job, ids] : jobs) {
      for (const ReservationId id : ids) {
        if (id.valid()) allocator.Release(id);
      }
    }
    EXPECT_EQ(allocator.num_reservations(), 0u);
    for (size_t l = 0; l < fabric.num_links(); ++l) EXPECT_EQ(allocator.load(LinkId(l)), 0);
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
