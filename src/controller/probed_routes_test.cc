#include "controller/probed_routes.h"

#include <gtest/gtest.h>

namespace fairlead::controller {
namespace {

const IpAddress kLeaf = IpAddress::FromIpv4(0x0b000001);
const IpAddress kSpine = IpAddress::FromIpv4(0x0c000001);

ProbedRoute Route(std::vector<IpAddress> hops, uint16_t port, double rtt_us, uint64_t lost = 0) {
  return {.hops = std::move(hops), .sent = 1, .lost = lost, .rtt = Seconds(rtt_us * 1e-6), .source_ports = {port}};
}

TEST(ProbedRoutesTest, PortsThatShowedTheSameAreOneRouteWithTheLeastRtt) {
  PortScanSeen scan;
  AddRoute(Route({kLeaf, kSpine}, 50'000, 30), &scan);
  AddRoute(Route({kLeaf, kSpine}, 50'003, 20), &scan);
  AddRoute(Route({kLeaf, kSpine}, 50'001, 40), &scan);
  ASSERT_EQ(scan.routes.size(), 1u);
  EXPECT_EQ(scan.routes[0].source_ports, (std::vector<uint16_t>{50'000, 50'003, 50'001}));
  EXPECT_EQ(scan.routes[0].rtt.value(), 20 * 1e-6);
}

TEST(ProbedRoutesTest, AnUnmeasuredRttIsNotTheLeast) {
  PortScanSeen scan;
  AddRoute(Route({kLeaf}, 1, 0), &scan);
  AddRoute(Route({kLeaf}, 2, 30), &scan);
  AddRoute(Route({kLeaf}, 3, 0), &scan);
  EXPECT_EQ(scan.routes[0].rtt.value(), 30 * 1e-6);
}

TEST(ProbedRoutesTest, OtherRoutersOrLossesAreAnotherRoute) {
  PortScanSeen scan;
  AddRoute(Route({kLeaf, kSpine}, 1, 10), &scan);
  AddRoute(Route({kSpine, kLeaf}, 2, 10), &scan);
  AddRoute(Route({kLeaf, IpAddress()}, 3, 10), &scan);
  AddRoute(Route({kLeaf, kSpine}, 4, 10, 1), &scan);
  EXPECT_EQ(scan.routes.size(), 4u);
}

TEST(ProbedRoutesTest, PartsOfOneOrderOnlyAreAdded) {
  PortScanSeen scan = {.source = kLeaf, .destination = kSpine, .epoch = 4, .routes = {Route({kLeaf}, 1, 10)}};
  PortScanSeen part = {
      .source = kLeaf, .destination = kSpine, .epoch = 4, .routes = {Route({kLeaf}, 2, 10), Route({kSpine}, 3, 10)}};
  EXPECT_TRUE(AddPart(part, &scan));
  ASSERT_EQ(scan.routes.size(), 2u);
  EXPECT_EQ(scan.routes[0].source_ports, (std::vector<uint16_t>{1, 2}));
  EXPECT_EQ(scan.routes[1], Route({kSpine}, 3, 10));
  part.epoch = 5;
  EXPECT_FALSE(AddPart(part, &scan));
  EXPECT_EQ(scan.routes.size(), 2u);
}

}  // namespace
}  // namespace fairlead::controller
