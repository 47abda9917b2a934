#include "report/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "report/printable_text.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kClear[] = "\r\x1b[K";

// The text on the line after everything was written.
std::string LastLine(const std::string& written) {
  const size_t clear = written.rfind(kClear);
  return clear == std::string::npos ? written : written.substr(clear + 4);
}

size_t NumDrawings(const std::string& written) {
  size_t count = 0;
  for (size_t at = written.find(kClear); at != std::string::npos; at = written.find(kClear, at + 1)) ++count;
  return count;
}

TEST(ProgressBarTest, WritesNothingWhereThereIsNoTerminal) {
  std::ostringstream out;
  {
    ProgressBar bar(out, {});
    bar.Update(0, "crux", 0.5);
  }
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressBarTest, ShowsLabelFractionAndTimeLeft) {
  std::ostringstream out;
  ProgressBar bar(out, {.is_terminal = true, .width = 60});
  bar.Update(10, "crux, seed 1 of 5", 0);
  EXPECT_THAT(LastLine(out.str()), HasSubstr("crux, seed 1 of 5 ["));
  EXPECT_THAT(LastLine(out.str()), Not(HasSubstr("left")));
  // A quarter in 30 s: three quarters need 90 s.
  bar.Update(40, "crux, seed 1 of 5", 0.25);
  EXPECT_THAT(LastLine(out.str()), HasSubstr(" 25 %, 90 s left"));
}

TEST(ProgressBarTest, IsRateLimited) {
  std::ostringstream out;
  ProgressBar bar(out, {.is_terminal = true, .interval_s = 0.1});
  // 0, 0.1, …, 0.9 and one more at 1.0 at most: 1,001 updates over one second.
  for (int i = 0; i <= 1000; ++i) bar.Update(i * 1e-3, "x", i * 1e-3);
  EXPECT_GE(NumDrawings(out.str()), 9u);
  EXPECT_LE(NumDrawings(out.str()), 11u);
  // A new label is drawn at once.
  const size_t before = NumDrawings(out.str());
  bar.Update(1.001, "y", 1);
  EXPECT_EQ(NumDrawings(out.str()), before + 1);
}

TEST(ProgressBarTest, LeavesNoTrace) {
  std::ostringstream out;
  {
    ProgressBar bar(out, {.is_terminal = true});
    bar.Update(0, "x", 0.5);
    EXPECT_NE(LastLine(out.str()), "");
    bar.Finish();
    EXPECT_EQ(LastLine(out.str()), "");
    bar.Finish();
  }
  EXPECT_EQ(NumDrawings(out.str()), 2u);  // one drawing, one removal
}

TEST(ProgressBarTest, EstimateStartsOverWhenTheFractionGoesBack) {
  std::ostringstream out;
  ProgressBar bar(out, {.is_terminal = true});
  bar.Update(0, "first", 0);
  bar.Update(100, "first", 1);
  bar.Update(100, "second", 0);
  // Half in 10 s since the restart, not in 110 s since the start.
  bar.Update(110, "second", 0.5);
  EXPECT_THAT(LastLine(out.str()), HasSubstr("50 %, 10 s left"));
}

TEST(ProgressBarTest, FitsEveryWidthAndTakesAnyInput) {
  for (size_t width = 0; width < 120; ++width) {
    std::ostringstream out;
    ProgressBar bar(out, {.is_terminal = true, .width = width});
    double now_s = 0;
    for (const double fraction : {0.0, 0.1, std::nan(""), 0.999, 1.0, 7.0, -1.0}) {
      for (const std::string& label : {std::string(), std::string(200, 'w'), std::string("日本語\n\x1b[2J")}) {
        bar.Update(now_s += 1000, label, fraction);
        const std::string line = LastLine(out.str());
        ASSERT_LT(DisplayWidth(line), std::max<size_t>(width, 1)) << width;
        ASSERT_THAT(line, Not(HasSubstr("nan")));
        ASSERT_THAT(line, Not(HasSubstr("\x1b")));
      }
    }
  }
}

}  // namespace
}  // namespace fairlead::report
