#include "base/socket_address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include "base/descriptor.h"

namespace fairlead {
namespace {

TEST(SocketAddress, IsTheAddressThatItWasMadeOf) {
  for (const char* text : {"10.1.2.3", "0.0.0.0", "fd00::1:2"}) {
    const auto address = ParseIpAddress(text);
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(IpAddressOf(SocketAddress(*address, 5000).get()), *address) << text;
  }
  EXPECT_EQ(SocketAddress(IpAddress::FromIpv4(1), 1).length(), sizeof(sockaddr_in));
  EXPECT_EQ(SocketAddress(IpAddress(), 1).length(), sizeof(sockaddr_in6));
  const sockaddr other = {.sa_family = AF_UNIX, .sa_data = {}};
  EXPECT_TRUE(IpAddressOf(&other).is_unset());
}

TEST(SocketAddress, TheKernelTakesItAndGivesItBack) {
  const IpAddress loopback = IpAddress::FromIpv4(INADDR_LOOPBACK);
  const SocketAddress address(loopback, 0);
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(bind(socket.get(), address.get(), address.length()), 0);
  EXPECT_EQ(LocalAddressOf(socket.get()), loopback);
  EXPECT_TRUE(LocalAddressOf(-1).is_unset());
}

}  // namespace
}  // namespace fairlead
