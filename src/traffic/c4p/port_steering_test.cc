#include "traffic/c4p/port_steering.h"

#include <gtest/gtest.h>

#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

using StepKind = PortSteering::Step::Kind;

class PortSteeringTest : public ::testing::Test {
 protected:
  topology::Fabric fabric_ = MasterFabric();
  PathCatalogue catalogue_{fabric_};
  PortSteering steering_{&catalogue_, {}, 1000, 0};
  ConnectionRequest near_ = {.source = NicId(0u), .destination = NicId(8u)};       // other segment, same rail
  ConnectionRequest far_ = {.source = NicId(0u), .destination = NicId(9u)};        // other segment, other rail
  ConnectionRequest neighbour_ = {.source = NicId(0u), .destination = NicId(2u)};  // same leaves

  AddressPair PairOf(const ConnectionRequest& connection) const { return steering_.PairOf(connection, 0); }
  uint64_t EpochOf(const ConnectionRequest& connection) const {
    return steering_.EpochOf(PairOf(connection).source_leaf, PairOf(connection).destination_leaf);
  }
  LinkId Uplink(const ConnectionRequest& connection, uint32_t path) {
    return catalogue_.Paths(PairOf(connection).source_leaf, PairOf(connection).destination_leaf).path(path)[0];
  }
  LinkId Downlink(const ConnectionRequest& connection, uint32_t path) {
    return catalogue_.Paths(PairOf(connection).source_leaf, PairOf(connection).destination_leaf).path(path)[1];
  }
  Status Learn(const ConnectionRequest& connection, uint16_t port, uint32_t path, uint64_t epoch) {
    const ProbedRoute route = {.links = {catalogue_.ports(connection.source)[0].up, Uplink(connection, path),
                                         Downlink(connection, path), catalogue_.ports(connection.destination)[0].down},
                               .rtt = Seconds(0),
                               .ports = {port}};
    return steering_.Learn(Scan(connection, route, epoch), SimTime(0));
  }
  static PortScanSeen Scan(const ConnectionRequest& connection, const ProbedRoute& route, uint64_t epoch) {
    return {.source = connection.source, .destination = connection.destination, .epoch = epoch, .routes = {route}};
  }
};

TEST(PortSteeringOfOnePortTest, OneWayNeedsNoScan) {
  const topology::Fabric fabric = MasterFabric(/*hosts=*/4, /*spines=*/4, /*ports=*/1);
  PathCatalogue catalogue(fabric);
  PortSteering steering(&catalogue, {}, 1000, 0);
  const AddressPair pair = steering.PairOf({.source = NicId(0u), .destination = NicId(2u)}, 0);
  EXPECT_EQ(steering.FindStep(pair, 0, 0).kind, StepKind::kUse);
  EXPECT_EQ(steering.FindStep(pair, 0, 50'000).ports, std::vector<uint16_t>{50'000});
  EXPECT_EQ(steering.FindStep(pair, 0, 0, 50'001).ports, std::vector<uint16_t>{50'001}) << "the socket's";
}

// One way on each plane: the hash chooses the plane, so ports have to be probed.
TEST_F(PortSteeringTest, BondedNicsHaveOneWayOnEachPlane) {
  EXPECT_EQ(steering_.FindStep(PairOf(neighbour_), 0, 0).kind, StepKind::kScan);
  const auto seen_on = [&](uint32_t plane, uint16_t port) {
    const ProbedRoute route = {
        .links = {catalogue_.ports(neighbour_.source)[plane].up, catalogue_.ports(neighbour_.destination)[plane].down},
        .rtt = Seconds(0),
        .ports = {port}};
    return steering_.Learn(Scan(neighbour_, route, EpochOf(neighbour_)), SimTime(0));
  };
  ASSERT_TRUE(seen_on(1, 50'000).ok());
  EXPECT_EQ(steering_.FindStep(PairOf(neighbour_), 0, 0).kind, StepKind::kScan) << "it leads over the other plane";
  ASSERT_TRUE(seen_on(0, 50'001).ok());
  EXPECT_EQ(steering_.FindStep(PairOf(neighbour_), 0, 0).ports, std::vector<uint16_t>{50'001});
}

// Bonded NICs have one address.
TEST_F(PortSteeringTest, APortIsHeldOnOnePlaneOnly) {
  ASSERT_TRUE(steering_.Hold(steering_.PairOf(near_, 0), 50'000).ok());
  EXPECT_EQ(steering_.Hold(steering_.PairOf(near_, 1), 50'000).code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE(steering_.LetGo(steering_.PairOf(near_, 0), 50'000).ok());
  EXPECT_TRUE(steering_.Hold(steering_.PairOf(near_, 1), 50'000).ok());
}

TEST_F(PortSteeringTest, AnOwnPortIsProbedBeforeOthersAre) {
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 2, 0).kind, StepKind::kScan);
  const auto step = steering_.FindStep(PairOf(near_), 2, 50'000);
  EXPECT_EQ(step.kind, StepKind::kProbe);
  EXPECT_EQ(step.ports, std::vector<uint16_t>{50'000});
  ASSERT_TRUE(Learn(near_, 50'000, 2, EpochOf(near_)).ok());
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 2, 50'000).kind, StepKind::kUse);
  // It leads elsewhere: a scan.
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 1, 50'000).kind, StepKind::kScan);
}

// A link from a spine down to a leaf concerns what goes there, and nothing else of the source leaf.
TEST_F(PortSteeringTest, AChangeConcernsThePairsOfItsLeafOnly) {
  ASSERT_TRUE(Learn(near_, 50'000, 2, EpochOf(near_)).ok());
  ASSERT_TRUE(Learn(far_, 50'000, 2, EpochOf(far_)).ok());
  const uint64_t before = EpochOf(near_);
  catalogue_.SetHealth(Downlink(near_, 1), 0);
  EXPECT_GT(EpochOf(near_), before);
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 2, 0).kind, StepKind::kScan);
  EXPECT_EQ(steering_.FindStep(PairOf(far_), 2, 0).kind, StepKind::kUse);
  // The link is back: so is the table, to be confirmed.
  catalogue_.SetHealth(Downlink(near_, 1), 1);
  const auto step = steering_.FindStep(PairOf(near_), 2, 0);
  EXPECT_EQ(step.kind, StepKind::kProbe);
  EXPECT_EQ(step.ports, std::vector<uint16_t>{50'000});
}

// The catalogue counts both directions of a leaf; where the paths are unchanged, known ports are confirmed by one probe
// each.
TEST_F(PortSteeringTest, PairsThatWereNotConcernedKeepTheirTablesOnProbation) {
  ASSERT_TRUE(Learn(near_, 50'000, 2, EpochOf(near_)).ok());
  catalogue_.SetHealth(fabric_.reverse(Uplink(near_, 1)), 0);
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 2, 0).kind, StepKind::kProbe);
}

TEST_F(PortSteeringTest, EpochsOfAnEarlierMasterTeachNothing) {
  ASSERT_TRUE(Learn(near_, 50'000, 2, EpochOf(near_) - 1000).ok());
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 2, 0).kind, StepKind::kScan);
  EXPECT_EQ(steering_.map().num_stale(), 1u);
}

TEST_F(PortSteeringTest, UnseenProbesPassAPortOverButForgetNone) {
  ASSERT_TRUE(Learn(near_, 50'000, 2, EpochOf(near_)).ok());
  const ProbedRoute nowhere = {.links = {}, .rtt = Seconds(0), .ports = {50'000}};
  PortScanSeen unseen = Scan(near_, nowhere, EpochOf(near_));
  ASSERT_TRUE(steering_.Learn(unseen, SimTime(1)).ok());
  EXPECT_EQ(steering_.FindStep(PairOf(near_), 2, 0).ports, std::vector<uint16_t>{50'000});
  // Its route is known, so its losses tell of links.
  EXPECT_EQ(steering_.KnownRoute(unseen, 50'000).size(), 4u);
  EXPECT_TRUE(steering_.KnownRoute(unseen, 50'001).empty());
  unseen.epoch -= 1;
  EXPECT_TRUE(steering_.KnownRoute(unseen, 50'000).empty());
}

TEST_F(PortSteeringTest, NamesWhatThereIsNot) {
  PortScanSeen scan = Scan(near_, {.links = {}, .rtt = Seconds(0), .ports = {50'000, 80}}, EpochOf(near_));
  scan.source = NicId(77u);
  EXPECT_EQ(steering_.Learn(scan, SimTime(0)).message(), "c4p: probe: no NIC 77; the fabric has 16 NICs");
  scan.source = near_.source;
  scan.plane = 2;
  EXPECT_EQ(steering_.Learn(scan, SimTime(0)).message(), "c4p: probe: h0/nic0 has no plane 2; it has 2 ports");
  scan.plane = 0;
  EXPECT_EQ(steering_.Learn(scan, SimTime(0)).message(), "c4p: probe: source port: expected 49152 to 65535, found 80");
  EXPECT_EQ(steering_.map().num_pairs(), 0u);
}

}  // namespace
}  // namespace fairlead::traffic::c4p
