#include "service/agent/dcgm_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <fstream>
#include <functional>
#include <thread>

#include "base/temporary_folder.h"

namespace fairlead::service {
namespace {

using testing::HasSubstr;

constexpr std::chrono::milliseconds kSoon(5);

bool Eventually(const std::function<bool()>& is_so) {
  for (int i = 0; i < 6000; ++i) {
    if (is_so()) return true;
    std::this_thread::sleep_for(kSoon);
  }
  return false;
}

TEST(DcgmSourceTest, AFileMayComeLaterAndEachTextIsTakenOnce) {
  const TemporaryFolder folder;
  const auto source = DcgmSource::Start(folder.File("dcgm.prom"), kSoon);
  ASSERT_TRUE(source.ok());
  EXPECT_TRUE(Eventually([&] { return !(*source)->status().ok(); }));
  uint64_t seen = 0, other = 0;
  EXPECT_EQ((*source)->TakeNewer(&seen), "");
  std::ofstream(folder.File("dcgm.prom")) << "up 1\n";
  std::string text;
  EXPECT_TRUE(Eventually([&] { return !(text = (*source)->TakeNewer(&seen)).empty(); }));
  EXPECT_EQ(text, "up 1\n");
  EXPECT_EQ((*source)->TakeNewer(&other), text) << "another reader has not had it";
  EXPECT_TRUE((*source)->status().ok());
}

TEST(DcgmSourceTest, AnExporterIsAskedOverHttp) {
  httplib::Server server;
  std::atomic<bool> is_broken = false;
  server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
    if (is_broken) {
      response.status = 503;
    } else {
      response.set_content("DCGM_FI_DEV_XID_ERRORS{gpu=\"0\"} 79\n", "text/plain");
    }
  });
  server.Get("/endless", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::string(DcgmSource::kTextBytesMax + 5000, 'x'), "text/plain");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::thread thread([&] { server.listen_after_bind(); });
  const std::string address = "http://127.0.0.1:" + std::to_string(port);
  {
    const auto source = DcgmSource::Start(address, kSoon);
    ASSERT_TRUE(source.ok());
    std::string text;
    uint64_t seen = 0;
    EXPECT_TRUE(Eventually([&] { return !(text = (*source)->TakeNewer(&seen)).empty(); }));
    EXPECT_THAT(text, HasSubstr("XID_ERRORS"));
    is_broken = true;
    EXPECT_TRUE(Eventually([&] { return !(*source)->status().ok(); }));
    EXPECT_THAT((*source)->status().message(), HasSubstr("503"));
    const auto endless = DcgmSource::Start(address + "/endless", kSoon);
    EXPECT_TRUE(Eventually([&] { return !(*endless)->status().ok(); }));
    seen = 0;
    EXPECT_EQ((*endless)->TakeNewer(&seen), "") << "half a text is none";
  }
  server.stop();
  thread.join();
  for (const char* bad : {"", "ftp://x/y", "https://x", "http://", "http:///metrics"}) {
    EXPECT_FALSE(DcgmSource::Start(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace fairlead::service
