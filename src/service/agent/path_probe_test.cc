// What can be seen without routers, on loopback; with routers: tests/e2e/agent_probe_test.py.
#include "service/agent/path_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/free_port.h"

namespace fairlead::service {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const IpAddress kLoopback = IpAddress::FromIpv4(0x7f000001);

// A port of loopback, open or not.
class LocalPort {
 public:
  explicit LocalPort(bool is_open) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    if (is_open) {
      EXPECT_EQ(listen(socket_, 64), 0);
    }
    socklen_t length = sizeof(address);
    getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
    number_ = ntohs(address.sin_port);
  }
  ~LocalPort() { close(socket_); }
  uint16_t number() const { return number_; }

 private:
  int socket_;
  uint16_t number_ = 0;
};

std::vector<uint16_t> FreePorts(size_t count) {
  std::vector<uint16_t> ports;
  for (size_t i = 0; i < count; ++i) ports.push_back(FindFreePort());
  return ports;
}

PathProbeOptions ToLoopback(uint16_t destination_port, std::vector<uint16_t> source_ports) {
  PathProbeOptions options;
  options.destination = kLoopback;
  options.destination_port = destination_port;
  options.source_ports = std::move(source_ports);
  options.timeout = std::chrono::minutes(1);  // no hop is silent
  return options;
}

// The destination is the first hop, whether it accepts or refuses; later hops are left out. More ports than may be
// under way at once.
TEST(PathProbeTest, TheDestinationAnswersEitherWay) {
  for (const bool is_open : {true, false}) {
    const LocalPort destination(is_open);
    PathProbeOptions options = ToLoopback(destination.number(), FreePorts(20));
    options.num_in_flight_max = 3;
    const auto paths = ProbePaths(options);
    ASSERT_TRUE(paths.ok()) << paths.status().message();
    ASSERT_THAT(*paths, SizeIs(20));
    for (size_t i = 0; i < paths->size(); ++i) {
      const ProbedPath& path = (*paths)[i];
      EXPECT_EQ(path.source_port, options.source_ports[i]);
      EXPECT_FALSE(path.is_taken);
      ASSERT_THAT(path.hops, SizeIs(1));
      EXPECT_EQ(path.hops[0].kind, ProbedHop::Kind::kDestination);
      EXPECT_EQ(path.hops[0].address, kLoopback);
      EXPECT_GT(path.hops[0].rtt.value(), 0);
    }
  }
}

// Probes leave nothing behind that would block the port.
TEST(PathProbeTest, TheSamePortsCanBeProbedAgain) {
  const LocalPort destination(true);
  const PathProbeOptions options = ToLoopback(destination.number(), FreePorts(4));
  for (int i = 0; i < 3; ++i) {
    const auto paths = ProbePaths(options);
    ASSERT_TRUE(paths.ok());
    for (const ProbedPath& path : *paths) EXPECT_FALSE(path.is_taken) << "round " << i;
  }
}

TEST(PathProbeTest, APortInUseIsReportedAndTheOthersAreProbed) {
  const LocalPort destination(true);
  const LocalPort listener(true);
  PathProbeOptions options = ToLoopback(destination.number(), {listener.number()});
  options.source_ports.push_back(FreePorts(1)[0]);
  options.source = kLoopback;
  const auto paths = ProbePaths(options);
  ASSERT_TRUE(paths.ok()) << paths.status().message();
  EXPECT_TRUE((*paths)[0].is_taken);
  EXPECT_THAT((*paths)[0].hops, SizeIs(0));
  EXPECT_FALSE((*paths)[1].is_taken);
}

TEST(PathProbeTest, NoPortsNoProbes) {
  const auto paths = ProbePaths(ToLoopback(1, {}));
  ASSERT_TRUE(paths.ok());
  EXPECT_THAT(*paths, SizeIs(0));
}

TEST(PathProbeTest, OptionsOutOfRangeAreRefused) {
  const PathProbeOptions good = ToLoopback(1, {40000});
  const auto expect_refused = [](const PathProbeOptions& options, const char* what) {
    const auto paths = ProbePaths(options);
    ASSERT_FALSE(paths.ok());
    EXPECT_EQ(paths.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(paths.status().message(), HasSubstr(what));
  };
  PathProbeOptions bad = good;
  bad.destination_port = 0;
  expect_refused(bad, "a port between 1 and 65535");
  bad = good;
  bad.source = *ParseIpAddress("::1");
  expect_refused(bad, "same version of IP");
  bad = good;
  bad.first_hop = 9;
  expect_refused(bad, "first hop <= last hop");
  bad = good;
  bad.num_attempts = 0;
  expect_refused(bad, "at least one attempt");
  bad = good;
  bad.source_ports = {5, 5};
  expect_refused(bad, "source ports that differ");
  bad.source_ports = {0};
  expect_refused(bad, "between 1 and 65535");
}

// 192.0.2.0/24 is for documents: no host has it.
TEST(PathProbeTest, AnAddressOfAnotherHostIsNoSource) {
  PathProbeOptions options = ToLoopback(1, {40000});
  options.source = *ParseIpAddress("192.0.2.1");
  const auto paths = ProbePaths(options);
  ASSERT_FALSE(paths.ok());
  EXPECT_EQ(paths.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(paths.status().message(), HasSubstr("can't send from 192.0.2.1"));
}

}  // namespace
}  // namespace fairlead::service
