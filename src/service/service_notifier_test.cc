#include "service/service_notifier.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

class ServiceNotifierTest : public testing::Test {
 protected:
  // Listens as systemd does, and tells the environment.
  void Listen(const std::string& path) {
    listener_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (path[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
  }
  // The next message; empty: there is none.
  std::string Next() const {
    char bytes[100];
    const ssize_t size = recv(listener_.get(), bytes, sizeof(bytes), 0);
    return size < 0 ? "" : std::string(bytes, static_cast<size_t>(size));
  }
  ~ServiceNotifierTest() override {
    for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  }

  const TemporaryFolder folder_;
  Descriptor listener_;
};

TEST_F(ServiceNotifierTest, SystemdIsToldThatWeAreReadyAndAlive) {
  for (const std::string& path : {folder_.File("notify"), "@fairlead-test-" + std::to_string(getpid())}) {
    Listen(path);
    setenv("WATCHDOG_USEC", "30000000", 1);
    setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
    ServiceNotifier notifier = ServiceNotifier::FromEnvironment();
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr) << "a hook's program is not us";
    EXPECT_EQ(std::getenv("WATCHDOG_USEC"), nullptr);
    notifier.Ready();
    EXPECT_EQ(Next(), "READY=1");
    constexpr int64_t kSecond = 1'000'000'000;
    int num_beats = 0;
    for (int64_t second = 0; second < 60; ++second) {
      notifier.Beat(second * kSecond);
      if (Next() == "WATCHDOG=1") ++num_beats;
    }
    EXPECT_EQ(num_beats, 6) << "each 10 s: one may be lost";
    notifier.Stopping();
    EXPECT_EQ(Next(), "STOPPING=1");
  }
}

TEST_F(ServiceNotifierTest, WithoutAWatchdogOfOursNothingBeats) {
  Listen(folder_.File("notify"));
  setenv("WATCHDOG_USEC", "30000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  ServiceNotifier notifier = ServiceNotifier::FromEnvironment();
  EXPECT_FALSE(notifier.has_watchdog());
  notifier.Beat(0);
  EXPECT_EQ(Next(), "");
  for (const char* path : {"", "relative", "/nowhere/at/all"}) {
    setenv("NOTIFY_SOCKET", path, 1);
    setenv("WATCHDOG_USEC", "x", 1);
    ServiceNotifier other = ServiceNotifier::FromEnvironment();
    other.Ready();
    other.Beat(0);
    EXPECT_FALSE(other.has_watchdog());
  }
}

}  // namespace
}  // namespace fairlead::service
