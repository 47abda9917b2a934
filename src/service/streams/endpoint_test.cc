#include "service/streams/endpoint.h"

#include <gtest/gtest.h>

namespace fairlead::service {
namespace {

TEST(Endpoint, IsReadAsItIsWritten) {
  for (const char* text : {"unix:/run/fairlead.sock", "10.0.0.1:7070", "[fd00::1]:7070", "controller:0"}) {
    const auto endpoint = ParseEndpoint(text);
    ASSERT_TRUE(endpoint.ok()) << endpoint.status().message();
    EXPECT_EQ(endpoint->ToString(), text);
  }
}

TEST(Endpoint, OtherTextsAreErrors) {
  for (const char* text :
       {"", "unix:", "10.0.0.1", ":7070", "10.0.0.1:", "10.0.0.1:65536", "h:7x", "fd00::1:7070", "[10.0.0.1]:7070"}) {
    const auto endpoint = ParseEndpoint(text);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_EQ(endpoint.status().code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(ParseEndpoint("unix:" + std::string(107, 'x')).ok());
  EXPECT_FALSE(ParseEndpoint("unix:" + std::string(108, 'x')).ok());
}

TEST(Endpoint, KnowsWhatStaysOnThisMachine) {
  for (const char* text : {"unix:x", "127.0.0.1:1", "127.8.9.1:1", "[::1]:1", "localhost:1"}) {
    EXPECT_TRUE(ParseEndpoint(text)->is_local()) << text;
  }
  for (const char* text : {"128.0.0.1:1", "0.0.0.0:1", "[::]:1", "127.0.0.1.example.org:1"}) {
    EXPECT_FALSE(ParseEndpoint(text)->is_local()) << text;
  }
}

}  // namespace
}  // namespace fairlead::service
