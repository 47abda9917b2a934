#include "base/free_port.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <set>

#include "base/descriptor.h"

namespace fairlead {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

TEST(FreePortTest, EachIsAnotherOneAndNoneIsTheKernelsToGive) {
  std::set<uint16_t> ports;
  for (int i = 0; i < 100; ++i) {
    const uint16_t port = FindFreePort();
    EXPECT_GE(port, 10'000);
    EXPECT_LT(port, 32'768);
    EXPECT_TRUE(ports.insert(port).second) << port;
  }
}

// There are 22,768, so that each comes more than once.
TEST(FreePortTest, ATakenOneIsSkipped) {
  const Descriptor taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  uint16_t port = 0;
  sockaddr_in address = {};
  do {  // another program may be quicker
    port = FindFreePort();
    address = Loopback(port);
  } while (bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0);
  for (int i = 0; i < 30'000; ++i) ASSERT_NE(FindFreePort(), port);
}

}  // namespace
}  // namespace fairlead
