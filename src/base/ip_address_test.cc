#include "base/ip_address.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

TEST(IpAddressTest, TextAndBack) {
  for (const char* text : {"10.0.0.1", "255.255.255.255", "0.0.0.0", "::", "::1", "fd00:1:2::3"}) {
    const auto address = ParseIpAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
}

TEST(IpAddressTest, Ipv4InsideIpv6IsTheSameAddress) {
  EXPECT_EQ(*ParseIpAddress("::ffff:10.0.0.1"), *ParseIpAddress("10.0.0.1"));
  EXPECT_TRUE(ParseIpAddress("::ffff:10.0.0.1")->is_ipv4());
  EXPECT_EQ(ParseIpAddress("10.0.0.1")->ipv4(), 0x0a000001u);
  EXPECT_EQ(IpAddress::FromIpv4(0x0a000001), *ParseIpAddress("10.0.0.1"));
}

TEST(IpAddressTest, OnlyTheDefaultIsUnset) {
  EXPECT_TRUE(IpAddress().is_unset());
  EXPECT_FALSE(ParseIpAddress("0.0.0.0")->is_unset());
}

TEST(IpAddressTest, EverythingElseIsRefused) {
  for (const char* text : {"", " 10.0.0.1", "10.0.0", "10.0.0.256", "host", "10.0.0.1:80", "fe80::1%eth0", "1::2::3"}) {
    EXPECT_FALSE(ParseIpAddress(text).ok()) << text;
  }
  EXPECT_FALSE(ParseIpAddress(std::string_view("::1\0x", 5)).ok());
  EXPECT_FALSE(ParseIpAddress(std::string_view("10.0.0.1\0x", 10)).ok());
}

}  // namespace
}  // namespace fairlead
