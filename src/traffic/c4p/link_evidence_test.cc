#include "traffic/c4p/link_evidence.h"

#include <gtest/gtest.h>

#include "traffic/c4p/c4p_master_example.h"

namespace fairlead::traffic::c4p {
namespace {

class LinkEvidenceTest : public ::testing::Test {
 protected:
  topology::Fabric fabric_ = MasterFabric();
  PathCatalogue catalogue_{fabric_};
  PortSteering ports_{&catalogue_, {}, 1000, 0};
  LinkEvidence evidence_{&catalogue_, &ports_, {}};

  // From the first NIC of a segment to that of the other, over one of 4 paths.
  std::vector<LinkId> Route(uint32_t path) {
    const NicPort from = catalogue_.ports(NicId(0u))[0];
    const NicPort to = catalogue_.ports(NicId(8u))[0];
    std::vector<LinkId> route = {from.up};
    const auto middle = catalogue_.Paths(from.leaf, to.leaf).path(path);
    route.insert(route.end(), middle.begin(), middle.end());
    route.push_back(to.down);
    return route;
  }
  PortScanSeen Seen(std::vector<ProbedRoute> routes) const {
    return {.source = NicId(0u),
            .destination = NicId(8u),
            .epoch = ports_.EpochOf({.source = NicId(0u), .destination = NicId(8u)}, 0),
            .routes = std::move(routes)};
  }
  static ProbedRoute Probe(std::vector<LinkId> links, uint16_t port, uint64_t lost) {
    return {.links = std::move(links), .sent = 100, .lost = lost, .rtt = Seconds(0), .ports = {port}};
  }
  // Three paths are whole; of the port of the fourth all probes are lost, and show nothing.
  std::vector<LinkStateChanged> ObserveLosses(int64_t second) {
    std::vector<ProbedRoute> routes;
    for (uint32_t path = 0; path < 3; ++path) {
      routes.push_back(Probe(Route(path), static_cast<uint16_t>(50'000 + path), 0));
    }
    routes.push_back(Probe({}, 50'003, 100));
    return evidence_.Observe(SimTime() + SecondsOf(second), std::vector{Seen(routes)});
  }
};

TEST_F(LinkEvidenceTest, LossesOfAPortFallOnTheRouteThatItIsKnownFor) {
  ASSERT_TRUE(ports_.Learn(Seen({Probe(Route(3), 50'003, 0)}), SimTime()).ok());
  std::vector<LinkStateChanged> changes;
  for (int64_t second = 0; second < 6; ++second) {
    for (LinkStateChanged& change : ObserveLosses(second)) changes.push_back(std::move(change));
  }
  ASSERT_FALSE(changes.empty());
  // The links between the leaves are its own; the others carry the whole paths, too.
  const std::vector<LinkId> route = Route(3);
  for (const LinkStateChanged& change : changes) {
    EXPECT_TRUE(change.link == route[1] || change.link == route[2]) << change.reason;
    EXPECT_NE(change.from, change.to);
  }
  EXPECT_EQ(evidence_.links().state(route[0]), LinkState::kUp);
}

TEST_F(LinkEvidenceTest, LossesOfAPortThatIsNotKnownSayNothing) {
  for (int64_t second = 0; second < 6; ++second) EXPECT_TRUE(ObserveLosses(second).empty());
  // Known in an earlier epoch only: it may have crossed other links by now.
  ASSERT_TRUE(ports_.Learn(Seen({Probe(Route(3), 50'003, 0)}), SimTime()).ok());
  catalogue_.SetHealth(Route(0)[1], 0);
  for (int64_t second = 6; second < 12; ++second) {
    EXPECT_TRUE(evidence_.Observe(SimTime() + SecondsOf(second), std::vector{Seen({Probe({}, 50'003, 100)})}).empty());
  }
}

}  // namespace
}  // namespace fairlead::traffic::c4p
