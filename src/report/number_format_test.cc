#include "report/number_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fairlead::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(NumberFormatTest, FixedGroupsThousandsAndHasNoNegativeZero) {
  EXPECT_EQ(FormatFixed(1234567.26, 1), "1,234,567.3");
  EXPECT_EQ(FormatFixed(-1234.0, 0), "-1,234");
  EXPECT_EQ(FormatFixed(-999.4, 0), "-999");
  EXPECT_EQ(FormatFixed(-0.04, 1), "0.0");
  EXPECT_EQ(FormatFixed(-0.06, 1), "-0.1");
}

TEST(NumberFormatTest, ShortKeepsThreeDigits) {
  EXPECT_EQ(FormatShort(0), "0");
  EXPECT_EQ(FormatShort(1234), "1,230");
  EXPECT_EQ(FormatShort(1235.1), "1,240");
  EXPECT_EQ(FormatShort(7.92), "7.92");
  EXPECT_EQ(FormatShort(4), "4");
  EXPECT_EQ(FormatShort(100), "100");
  EXPECT_EQ(FormatShort(36.04), "36");
  EXPECT_EQ(FormatShort(0.012345), "0.0123");
  EXPECT_EQ(FormatShort(-15.25), "-15.2");  // ties to even: 15.25 is exact
  EXPECT_EQ(FormatShort(0.00001), "0");     // four decimals at most
}

TEST(NumberFormatTest, SignsOfDifferences) {
  EXPECT_EQ(FormatPoints(0.111), "+11.1 points");
  EXPECT_EQ(FormatPoints(-0.0004), "0.0 points");
  EXPECT_EQ(FormatChange(-0.0125), "-1.2 %");
  EXPECT_EQ(FormatSigned(0.04, 1), "0.0");
  EXPECT_EQ(FormatSigned(0.06, 1), "+0.1");
  EXPECT_EQ(FormatPercent(0.6123), "61.2 %");
}

TEST(NumberFormatTest, Durations) {
  EXPECT_EQ(FormatDuration(0), "0 s");
  EXPECT_EQ(FormatDuration(0.00034), "340 µs");
  EXPECT_EQ(FormatDuration(0.223), "223 ms");
  EXPECT_EQ(FormatDuration(119), "119 s");
  EXPECT_EQ(FormatDuration(210), "3.5 min");
  EXPECT_EQ(FormatDuration(36 * 3600), "36 h");
  EXPECT_EQ(FormatDuration(14 * 86400), "14 days");
  EXPECT_EQ(FormatDuration(-210), "-3.5 min");
}

TEST(NumberFormatTest, CountsAndUnits) {
  EXPECT_EQ(FormatCount(2768), "2,768");
  EXPECT_EQ(FormatCount(1, "job"), "1 job");
  EXPECT_EQ(FormatCount(0, "job"), "0 jobs");
  EXPECT_EQ(FormatLinkSpeed(25e9), "200 Gb/s");
  EXPECT_EQ(FormatLinkSpeed(25e6), "200 Mb/s");
  EXPECT_EQ(FormatSlowdown(1.414), "1.41x");
  EXPECT_EQ(FormatSlowdown(40.04, true), ">= 40x");
  EXPECT_EQ(FormatSlowdown(0, true), "–");
  EXPECT_EQ(FormatErrorBound(0), "exact");
  EXPECT_EQ(FormatErrorBound(1.2e-9), "1e-09");
}

TEST(NumberFormatTest, UnknownIsADash) {
  for (const double value : {kNan, kInfinity, -kInfinity}) {
    for (const std::string& text :
         {FormatFixed(value, 1), FormatSigned(value, 1), FormatShort(value), FormatPercent(value), FormatPoints(value),
          FormatChange(value), FormatDuration(value), FormatSlowdown(value), FormatErrorBound(value),
          FormatLinkSpeed(value)}) {
      EXPECT_EQ(text, "–");
    }
  }
  EXPECT_EQ(FormatSlowdown(0), "–");
}

}  // namespace
}  // namespace fairlead::report
