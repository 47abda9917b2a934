#include "traffic/c4p/port_occupancy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

constexpr uint16_t kSocketPort = 50'000;
constexpr uint16_t kWirePort = 61'000;

class PortOccupancyTest : public ::testing::Test {
 protected:
  topology::Fabric fabric_ = MasterFabric();
  PathCatalogue catalogue_{fabric_};
  ConnectionTable connections_;
  PortSteering ports_{&catalogue_, {}, 1000, 0};
  PortOccupancy occupancy_{&connections_, &ports_};
  ConnectionRequest request_ = {.source = NicId(0u), .destination = NicId(8u), .num_queue_pairs = 2};
  uint32_t slot_ = connections_.Add({HostId(0), JobId(1)}, request_);
  QueuePairRef first_{slot_, 0};
  QueuePairRef second_{slot_, 1};

  // A known and confirmed port, and not one that something has.
  bool IsOffered(uint16_t port, uint32_t plane) {
    const AddressPair pair = ports_.PairOf(request_, plane);
    const auto candidates = ports_.map().Candidates(pair, 0);
    return std::ranges::any_of(candidates, [&](const PortCandidate& one) { return one.port == port; });
  }
  // On all planes alike.
  bool IsOffered(uint16_t port) {
    const bool is_offered = IsOffered(port, 0);
    EXPECT_EQ(IsOffered(port, 1), is_offered);
    return is_offered;
  }
  void SetUp() override {
    for (uint32_t plane = 0; plane < 2; ++plane) {
      const NicPort from = catalogue_.ports(request_.source)[plane];
      const NicPort to = catalogue_.ports(request_.destination)[plane];
      std::vector<LinkId> route = {from.up};
      const auto middle = catalogue_.Paths(from.leaf, to.leaf).path(0);
      route.insert(route.end(), middle.begin(), middle.end());
      route.push_back(to.down);
      ASSERT_TRUE(ports_
                      .Learn({.source = request_.source,
                              .destination = request_.destination,
                              .plane = plane,
                              .epoch = ports_.EpochOf(request_, plane),
                              .routes = {{.links = route, .rtt = Seconds(0), .ports = {kSocketPort, kWirePort}}}},
                             SimTime(0))
                      .ok());
    }
    ASSERT_TRUE(IsOffered(kSocketPort));
    ASSERT_TRUE(IsOffered(kWirePort));
  }
};

TEST_F(PortOccupancyTest, WhatASocketHasIsFreeWithItAndWhatPacketsCarriedRests) {
  occupancy_.Note(first_, kSocketPort, kWirePort, SimTime(0));
  EXPECT_FALSE(IsOffered(kSocketPort));
  EXPECT_FALSE(IsOffered(kWirePort));
  occupancy_.Release(first_, SimTime(100));
  EXPECT_TRUE(IsOffered(kSocketPort));
  occupancy_.EndRests(SimTime(99) + PortOccupancy::kRest);
  EXPECT_FALSE(IsOffered(kWirePort));
  occupancy_.EndRests(SimTime(100) + PortOccupancy::kRest);
  EXPECT_TRUE(IsOffered(kWirePort));
  EXPECT_EQ(occupancy_.num_resting(), 0u);
}

TEST_F(PortOccupancyTest, TheSocketsOwnPortIsFreeWhenBothEnd) {
  occupancy_.Note(first_, kSocketPort, kSocketPort, SimTime(0));
  occupancy_.Release(first_, SimTime(1));
  EXPECT_TRUE(IsOffered(kSocketPort));
  EXPECT_EQ(occupancy_.num_resting(), 0u);
}

TEST_F(PortOccupancyTest, AReportTakesThePlaceOfTheLastOne) {
  occupancy_.Note(first_, kSocketPort, kWirePort, SimTime(0));
  occupancy_.Note(first_, kSocketPort, kWirePort, SimTime(0));
  // Packets carry the socket's port again; the other one may arrive still.
  occupancy_.Note(first_, kSocketPort, kSocketPort, SimTime(0));
  EXPECT_FALSE(IsOffered(kWirePort));
  occupancy_.EndRests(SimTime(0) + PortOccupancy::kRest);
  EXPECT_TRUE(IsOffered(kWirePort));
  EXPECT_FALSE(IsOffered(kSocketPort));
  // None that steers: as good as none.
  occupancy_.Note(first_, 80, 443, SimTime(0));
  occupancy_.EndRests(SimTime(0) + PortOccupancy::kRest);
  EXPECT_TRUE(IsOffered(kSocketPort));
  occupancy_.Release(first_, SimTime(0));
  EXPECT_EQ(occupancy_.num_resting(), 0u);
}

TEST_F(PortOccupancyTest, APortIsOccupiedForAsLongAsOneHasIt) {
  occupancy_.Note(first_, kSocketPort, kSocketPort, SimTime(0));
  occupancy_.Note(second_, kSocketPort, kSocketPort, SimTime(0));
  occupancy_.Release(first_, SimTime(1));
  EXPECT_FALSE(IsOffered(kSocketPort));
  occupancy_.Release(second_, SimTime(1));
  EXPECT_TRUE(IsOffered(kSocketPort));
}

}  // namespace
}  // namespace fairlead::traffic::c4p
