#include "base/whole_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace fairlead {
namespace {

TEST(WholeNumberTest, TakesTextsThatAreNumbersToTheLastCharacter) {
  EXPECT_EQ(ParseWhole<uint32_t>("0"), 0u);
  EXPECT_EQ(ParseWhole<uint32_t>("007"), 7u);
  EXPECT_EQ(ParseWhole<uint32_t>("4294967295"), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(ParseWhole<int32_t>("-1"), -1);
  EXPECT_EQ(ParseWhole<double>("-2.5e3"), -2500.0);
}

TEST(WholeNumberTest, RefusesAllElse) {
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.0", "0x1", "one", "4294967296"}) {
    EXPECT_EQ(ParseWhole<uint32_t>(text), std::nullopt) << "'" << text << "'";
  }
  for (const char* text : {"", "1,5", "1.5s", "1e999", "."}) {
    EXPECT_EQ(ParseWhole<double>(text), std::nullopt) << "'" << text << "'";
  }
}

}  // namespace
}  // namespace fairlead
