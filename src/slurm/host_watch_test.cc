#include "slurm/host_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Node UpNode(const std::string& name) {
  Node node;
  node.name = name;
  node.is_up = true;
  return node;
}

ClusterState ClusterOf(const std::vector<std::string>& names) {
  ClusterState state;
  for (const std::string& name : names) state.nodes.push_back(UpNode(name));
  return state;
}

Reservation Reserved(const std::string& name, std::vector<std::string> hosts) {
  Reservation reservation;
  reservation.name = name;
  reservation.hosts = std::move(hosts);
  return reservation;
}

TEST(HostWatchTest, AnUnknownHostIsNewOnce) {
  HostWatch watch({"h0", "h1"}, "");
  EXPECT_THAT(watch.TakeNewUnknown(ClusterOf({"h0", "x2", "x1"})), ElementsAre("x1", "x2"));
  EXPECT_EQ(watch.num_unknown(), 2u);
  EXPECT_THAT(watch.TakeNewUnknown(ClusterOf({"h0", "x2", "x3"})), ElementsAre("x3"));
  EXPECT_EQ(watch.num_unknown(), 2u);
  EXPECT_THAT(watch.TakeNewUnknown(ClusterOf({"h0", "h1", "x1"})), ElementsAre("x1")) << "it was away";
}

// Of the five hosts of the reservation one is free; the others are down, drained, busy, and not of the fabric.
TEST(HostWatchTest, ASpareIsOfferedWhenItBecomesFree) {
  HostWatch watch({"h0", "h1", "h2", "h3", "h4"}, "fairlead_spares");
  ClusterState state = ClusterOf({"h0", "h1", "h2", "h3", "h4", "x1"});
  state.reservations = {Reserved("fairlead_spares", {"h1", "h2", "h3", "h4", "x1"}), Reserved("theirs", {"h0"})};
  state.nodes[2].is_up = false;
  state.nodes[3].is_drained = true;
  state.nodes[4].is_busy = true;
  EXPECT_THAT(watch.TakeNewSpares(state), ElementsAre(HostId(1)));
  EXPECT_THAT(watch.TakeNewSpares(state), IsEmpty());
  state.nodes[3].is_drained = false;
  EXPECT_THAT(watch.TakeNewSpares(state), ElementsAre(HostId(3)));
  state.nodes[1].is_busy = true;
  EXPECT_THAT(watch.TakeNewSpares(state), IsEmpty());
  state.nodes[1].is_busy = false;
  EXPECT_THAT(watch.TakeNewSpares(state), ElementsAre(HostId(1)));
}

TEST(HostWatchTest, WithoutAReservationThereAreNoSpares) {
  HostWatch watch({"h0"}, "");
  ClusterState state = ClusterOf({"h0"});
  state.reservations = {Reserved("", {"h0"})};
  EXPECT_THAT(watch.TakeNewSpares(state), IsEmpty());
}

}  // namespace
}  // namespace fairlead::slurm
