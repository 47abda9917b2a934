#include "agent/resting_ports.h"

#include <gtest/gtest.h>

namespace fairlead::agent {
namespace {

class RestingPortsTest : public testing::Test {
 protected:
  static SocketPair Ends(uint16_t port) { return {IpAddress::FromIpv4(1), IpAddress::FromIpv4(2), port, 5000}; }
  static SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }
};

TEST_F(RestingPortsTest, APortIsTakenForOthersUntilItsRestEnds) {
  RestingPorts ports(SimDuration(10'000'000'000), 100);
  EXPECT_TRUE(ports.Add(Ends(61'000), 7, At(1)));
  EXPECT_TRUE(ports.IsTaken(Ends(61'000), 8));
  EXPECT_FALSE(ports.IsTaken(Ends(61'000), 7));
  EXPECT_FALSE(ports.IsTaken(Ends(61'001), 8));
  EXPECT_FALSE(ports.EndAt(At(10.9)));
  EXPECT_TRUE(ports.EndAt(At(11)));
  EXPECT_FALSE(ports.IsTaken(Ends(61'000), 8));
  EXPECT_FALSE(ports.EndAt(At(12)));
}

TEST_F(RestingPortsTest, ARestThatBeginsAgainEndsLater) {
  RestingPorts ports(SimDuration(10'000'000'000), 100);
  ports.Add(Ends(61'000), 7, At(1));
  ports.Add(Ends(61'000), 9, At(5));
  EXPECT_FALSE(ports.EndAt(At(11)));
  EXPECT_TRUE(ports.IsTaken(Ends(61'000), 7));
  EXPECT_TRUE(ports.EndAt(At(15)));
}

TEST_F(RestingPortsTest, TooManyAreNotRemembered) {
  RestingPorts ports(SimDuration(10'000'000'000), 2);
  EXPECT_TRUE(ports.Add(Ends(1), 7, At(1)));
  EXPECT_TRUE(ports.Add(Ends(2), 7, At(1)));
  EXPECT_FALSE(ports.Add(Ends(3), 7, At(1)));
  EXPECT_FALSE(ports.IsTaken(Ends(3), 8));
}

TEST_F(RestingPortsTest, TheNextAgentLetsThemRestAnew) {
  RestingPorts before(SimDuration(10'000'000'000), 100);
  before.Add(Ends(61'000), 7, At(1));
  before.Add(Ends(61'001), 8, At(2));
  RestingPorts after(SimDuration(10'000'000'000), 100);
  after.Restore(before.State(), At(100));
  EXPECT_EQ(after.State(), before.State());
  EXPECT_FALSE(after.EndAt(At(109.9)));
  EXPECT_TRUE(after.EndAt(At(110)));
  EXPECT_TRUE(after.State().empty());
}

}  // namespace
}  // namespace fairlead::agent
