#include "base/unit_text.h"

#include <gtest/gtest.h>

namespace fairlead {
namespace {

struct Case {
  const char* text;
  NumberUnit unit;
  double value;
};

TEST(UnitTextTest, NumbersAreInTheUnitOfTheirKeyUnlessTheySayAnother) {
  for (const Case& c : {
           Case{"30", NumberUnit::kSeconds, 30},
           Case{"250ms", NumberUnit::kSeconds, 0.25},
           Case{"1.5 h", NumberUnit::kSeconds, 5400},
           Case{"10min", NumberUnit::kSeconds, 600},
           Case{"7us", NumberUnit::kSeconds, 7e-6},
           Case{"2d", NumberUnit::kSeconds, 172800},
           Case{"800", NumberUnit::kMegabytes, 800},
           Case{"16GB", NumberUnit::kMegabytes, 16000},
           Case{"1GiB", NumberUnit::kMegabytes, 1073.741824},
           Case{"64 KiB", NumberUnit::kMegabytes, 0.065536},
           Case{"400", NumberUnit::kGigabitsPerSecond, 400},
           Case{"400Gb/s", NumberUnit::kGigabitsPerSecond, 400},
           Case{"400Gbps", NumberUnit::kGigabitsPerSecond, 400},
           Case{"400 Gbit/s", NumberUnit::kGigabitsPerSecond, 400},
           Case{"0.4Tb/s", NumberUnit::kGigabitsPerSecond, 400},
           Case{"50GB/s", NumberUnit::kGigabitsPerSecond, 400},
           Case{"400G", NumberUnit::kGigabitsPerSecond, 400},
           Case{"50GBps", NumberUnit::kGigabytesPerSecond, 50},
           Case{"400Gb/s", NumberUnit::kGigabytesPerSecond, 50},
           Case{"5GFLOP", NumberUnit::kTeraflop, 0.005},
           Case{"1PFLOPS", NumberUnit::kTeraflopPerSecond, 1000},
           Case{"312TFLOP/s", NumberUnit::kTeraflopPerSecond, 312},
           Case{"2:1", NumberUnit::kRatio, 2},
           Case{"1:4", NumberUnit::kRatio, 0.25},
           Case{"1.5", NumberUnit::kRatio, 1.5},
           Case{"-3", NumberUnit::kNone, -3},
           Case{"1e3", NumberUnit::kNone, 1000},
       }) {
    const auto value = ParseWithUnit(c.text, c.unit);
    ASSERT_TRUE(value.has_value()) << c.text;
    EXPECT_DOUBLE_EQ(*value, c.value) << c.text;
  }
}

TEST(UnitTextTest, OtherTextsAndUnitsOfAnotherKindAreNoNumbers) {
  for (const auto& [text, unit] : {
           std::pair{"", NumberUnit::kSeconds},
           std::pair{"ms", NumberUnit::kSeconds},
           std::pair{"16GB", NumberUnit::kSeconds},
           std::pair{"5 parsecs", NumberUnit::kSeconds},
           std::pair{"250ms", NumberUnit::kMegabytes},
           std::pair{"16Gb", NumberUnit::kMegabytes},
           std::pair{"16GB", NumberUnit::kGigabitsPerSecond},
           std::pair{"312TFLOP", NumberUnit::kTeraflopPerSecond},
           std::pair{"312TFLOPS", NumberUnit::kTeraflop},
           std::pair{"5s", NumberUnit::kNone},
           std::pair{"2:0", NumberUnit::kRatio},
           std::pair{"2:", NumberUnit::kRatio},
           std::pair{"2:1x", NumberUnit::kRatio},
           std::pair{"2:1", NumberUnit::kSeconds},
           std::pair{"nan", NumberUnit::kSeconds},
           std::pair{"inf", NumberUnit::kNone},
           std::pair{"1e308TB", NumberUnit::kMegabytes},
           std::pair{"0x10", NumberUnit::kNone},
       }) {
    EXPECT_FALSE(ParseWithUnit(text, unit).has_value()) << text;
  }
}

// Messages offer the example, and say that it is understood.
TEST(UnitTextTest, ExamplesAreUnderstood) {
  for (const NumberUnit unit :
       {NumberUnit::kSeconds, NumberUnit::kMegabytes, NumberUnit::kGigabitsPerSecond, NumberUnit::kGigabytesPerSecond,
        NumberUnit::kTeraflop, NumberUnit::kTeraflopPerSecond, NumberUnit::kRatio}) {
    EXPECT_TRUE(ParseWithUnit(UnitExample(unit), unit).has_value()) << UnitExample(unit);
  }
}

}  // namespace
}  // namespace fairlead
