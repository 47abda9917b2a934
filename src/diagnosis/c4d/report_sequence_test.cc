#include "diagnosis/c4d/report_sequence.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/random.h"

namespace fairlead::diagnosis::c4d {
namespace {

SimTime At(double seconds) { return SimTime::FromSeconds(Seconds(seconds)); }

TEST(ReportSequenceTest, EachReportHasOneSerialInOrderOfNumbers) {
  ReportSequence sequence;
  const auto first = sequence.Add(7, At(1), At(1));
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(sequence.Add(7, At(1), At(1.5)), std::nullopt) << "repeated";
  EXPECT_EQ(sequence.Add(9, At(3), At(3)), *first + 2);
  EXPECT_EQ(sequence.num_missing(), 1u);
  EXPECT_EQ(sequence.Add(8, At(2), At(3.5)), *first + 1) << "late";
  EXPECT_EQ(sequence.num_missing(), 0u);
  EXPECT_EQ(sequence.Add(8, At(2), At(3.6)), std::nullopt);
}

// The reporter's clock is 100 s ahead, its reports take 10 ms. Report 2, made at 102 on its clock, is lost; report 3 is
// held back for 4 s. The missing one was still made at 2.01 on our clock.
TEST(ReportSequenceTest, AMissingReportIsAsOldAsItsPlaceInTheOrder) {
  ReportSequence sequence;
  const auto serial = sequence.Add(1, At(101), At(1.01));
  ASSERT_TRUE(serial.has_value());
  sequence.Add(3, At(103), At(7));
  EXPECT_TRUE(sequence.HasGap(*serial, At(2.1)));
  EXPECT_FALSE(sequence.HasGap(*serial, At(1.9)));
  EXPECT_FALSE(sequence.HasGap(*serial + 1, At(9))) << "what came after it has arrived";
  EXPECT_TRUE(sequence.HasGapBetween(At(2), At(2.1)));
  EXPECT_FALSE(sequence.HasGapBetween(At(2.1), At(9)));
}

TEST(ReportSequenceTest, AReporterThatRestartsItsCountMayHaveReportedMoreBefore) {
  ReportSequence sequence;
  const auto before = sequence.Add(500, At(500), At(500));
  const auto after = sequence.Add(0, At(501), At(501));
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_GT(*after, *before);
  EXPECT_TRUE(sequence.HasGap(*before, At(501)));
  EXPECT_FALSE(sequence.HasGap(*after, At(501)));
}

TEST(ReportSequenceTest, AnotherCountAndAnotherSettingOfTheClockBeginAnew) {
  ReportSequence sequence;
  const auto begins_anew = [&](uint64_t number, double at, double now) {
    EXPECT_TRUE(sequence.Add(number, At(at), At(now)).has_value());
    return sequence.begins_anew();
  };
  EXPECT_TRUE(begins_anew(5, 105, 5));
  EXPECT_FALSE(begins_anew(6, 106, 9)) << "late";
  EXPECT_FALSE(begins_anew(8, 108, 9)) << "one is missing";
  EXPECT_FALSE(begins_anew(7, 107, 9.5));
  EXPECT_TRUE(begins_anew(9, 3709, 10)) << "forwards";
  EXPECT_FALSE(begins_anew(10, 3710, 11));
  EXPECT_TRUE(begins_anew(11, 111, 12)) << "back";
  EXPECT_FALSE(begins_anew(12, 112, 13));
  EXPECT_TRUE(begins_anew(0, 113, 14)) << "started again";
}

// Reports of a host whose clock was an hour ahead for a while; then its agent is started again.
TEST(ReportSequenceTest, AClockThatIsSetBackHidesNoRestart) {
  ReportSequence sequence;
  const auto add = [&](uint64_t number, int64_t at_s, int64_t now_s) {
    return sequence.Add(number, SimTime(at_s * 1'000'000'000), SimTime(now_s * 1'000'000'000));
  };
  for (int64_t s = 0; s < 5; ++s) EXPECT_TRUE(add(static_cast<uint64_t>(s), s, s).has_value());
  EXPECT_TRUE(add(5, 3605, 5).has_value());
  EXPECT_TRUE(add(6, 6, 6).has_value());
  EXPECT_TRUE(add(0, 7, 7).has_value());
  EXPECT_TRUE(add(1, 8, 8).has_value());
  EXPECT_FALSE(add(1, 8, 9).has_value());
}

// Law: in whatever order reports arrive and however often, a gap is left exactly for each one that never does.
// The clock was 2,600 s ahead for a second, and then the agent was started again: numbers begin anew, and seem to be
// made long ago.
TEST(ReportSequenceTest, ACountThatBeginsAnewWithTheClockSetBackIsHeard) {
  ReportSequence sequence;
  for (uint64_t n = 0; n < 30; ++n) sequence.Add(n, At(static_cast<double>(n)), At(static_cast<double>(n) + 0.01));
  ASSERT_TRUE(sequence.Add(30, At(2630), At(30.01)).has_value());
  EXPECT_EQ(sequence.Add(0, At(40), At(40.01)), std::nullopt) << "it may be a repetition";
  EXPECT_TRUE(sequence.Add(1, At(41), At(41.02)).has_value());
  EXPECT_TRUE(sequence.begins_anew());
  EXPECT_TRUE(sequence.Add(2, At(42), At(42.01)).has_value());
  EXPECT_FALSE(sequence.begins_anew());
  EXPECT_EQ(sequence.newest_at(), At(42));
}

// What is sent again all at once, or between others, stays a repetition.
TEST(ReportSequenceTest, RepetitionsAreNoNewCount) {
  ReportSequence sequence;
  for (uint64_t n = 0; n < 30; ++n) sequence.Add(n, At(static_cast<double>(n)), At(static_cast<double>(n)));
  for (uint64_t n = 10; n < 20; ++n) {
    EXPECT_EQ(sequence.Add(n, At(static_cast<double>(n)), At(30 + 0.01 * static_cast<double>(n))), std::nullopt);
  }
  for (uint64_t n = 30; n < 40; ++n) {
    ASSERT_TRUE(sequence.Add(n, At(static_cast<double>(n) + 1), At(static_cast<double>(n) + 1)).has_value());
    EXPECT_EQ(sequence.Add(n - 5, At(static_cast<double>(n) - 4), At(static_cast<double>(n) + 1.1)), std::nullopt);
  }
  EXPECT_EQ(sequence.num_missing(), 0u);
}

TEST(ReportSequenceTest, WhatIsMissingIsWhatNeverArrived) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    ReportSequence sequence;
    std::vector<uint64_t> numbers = {0};
    std::set<uint64_t> lost;
    for (uint64_t number = 1; number < 15; ++number) {
      if (random.Below(4) == 0 && number < 14) {
        lost.insert(number);
        continue;
      }
      numbers.push_back(number);
      if (random.Below(4) == 0) numbers.push_back(number);
    }
    random.Shuffle(std::span(numbers).subspan(1));
    std::set<uint32_t> serials;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto serial =
          sequence.Add(numbers[i], At(static_cast<double>(numbers[i])), At(20 + static_cast<double>(i)));
      if (!serial) continue;
      EXPECT_TRUE(serials.insert(*serial).second) << "seed " << seed;
    }
    EXPECT_EQ(serials.size() + lost.size(), 15u) << "seed " << seed;
    EXPECT_EQ(sequence.num_missing(), lost.size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::diagnosis::c4d
