// Does a process get as many descriptors as it may have?
#include "base/descriptor_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <string>

namespace fairlead {
namespace {

class DescriptorLimitTest : public testing::Test {
 protected:
  DescriptorLimitTest() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorLimitTest() override { setrlimit(RLIMIT_NOFILE, &before_); }

  static rlimit Limit() {
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    return limit;
  }

  rlimit before_ = {};
};

TEST_F(DescriptorLimitTest, TheSoftLimitBecomesTheHardOne) {
  const rlimit low = {.rlim_cur = 64, .rlim_max = before_.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  const Result<uint64_t> limit = RaiseDescriptorLimit();
  ASSERT_TRUE(limit.ok()) << limit.status().message();
  EXPECT_EQ(*limit, before_.rlim_max);
  EXPECT_EQ(Limit().rlim_cur, before_.rlim_max);
  EXPECT_EQ(Limit().rlim_max, before_.rlim_max) << "the hard limit stays";
}

TEST_F(DescriptorLimitTest, TwiceIsAsOnceAndTheTextShowsIt) {
  const std::string text = DescribeRaisedDescriptorLimit();
  EXPECT_EQ(text, "may have " + std::to_string(before_.rlim_max) + " descriptors open");
  EXPECT_EQ(DescribeRaisedDescriptorLimit(), text);
}

}  // namespace
}  // namespace fairlead
