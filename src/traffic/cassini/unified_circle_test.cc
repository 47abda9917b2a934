#include "traffic/cassini/unified_circle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::cassini {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Shifts = std::vector<uint32_t>;

TEST(UnifiedCircleTest, TwoHalfDutyJobsInterleaveByHalfAPeriod) {
  // Period 100, full rate for 50: together 2 for half of the circle, excess 1 there: score 1 - 50/100.
  const std::vector<Burst> jobs = {{1, 0, 50, 1}, {1, 0, 50, 1}};
  EXPECT_DOUBLE_EQ(Score(100, jobs, Shifts{0, 0}), 0.5);
  EXPECT_DOUBLE_EQ(Score(100, jobs, Shifts{0, 50}), 1);
  EXPECT_THAT(FindShifts(100, jobs), ElementsAre(0, 50));
}

TEST(UnifiedCircleTest, PeriodsOf40And60ShareACircleOf120) {
  // Bursts of 10 at full rate: job 0 at 0, 40, 80; job 1 shifted by 10 at 10, 70: no meeting. Shifted by 20 it sends at
  // 20 and 80, and meets job 0 at 80: 10 of 120 are doubled.
  const uint32_t perimeter = FindPerimeter(Shifts{40, 60}, 50'000);
  ASSERT_EQ(perimeter, 120u);
  const std::vector<Burst> jobs = {{3, 0, 10, 1}, {2, 0, 10, 1}};
  EXPECT_THAT(FindShifts(perimeter, jobs), ElementsAre(0, 10));
  EXPECT_DOUBLE_EQ(Score(perimeter, jobs, Shifts{0, 10}), 1);
  EXPECT_DOUBLE_EQ(Score(perimeter, jobs, Shifts{0, 20}), 1 - 10.0 / 120);
}

TEST(UnifiedCircleTest, ALinkThatCarriesBothNeedsNoShift) {
  EXPECT_THAT(FindShifts(10, std::vector<Burst>{{1, 0, 10, 0.5}, {1, 0, 10, 0.5}}), ElementsAre(0, 0));
  EXPECT_THAT(FindShifts(10, std::vector<Burst>{{1, 3, 2, 1}}), ElementsAre(0));
  EXPECT_THAT(FindShifts(10, std::vector<Burst>{}), IsEmpty());
}

TEST(UnifiedCircleTest, BurstsBeginWhereComputeEnds) {
  // Job 0 sends in [7, 10). Job 1, of period 5, in [2, 5) and [7, 10): all of job 0's burst is doubled. Of five slots
  // two are free for its three, so one is doubled at least: shifts 1 and 2 leave [8, 11) and [9, 12), 2 and 1 doubled.
  const std::vector<Burst> jobs = {{1, 7, 3, 1}, {2, 2, 3, 1}};
  const Shifts shifts = FindShifts(10, jobs);
  EXPECT_DOUBLE_EQ(TotalExcess(10, jobs, Shifts{0, 0}), 3);
  EXPECT_DOUBLE_EQ(TotalExcess(10, jobs, shifts), 1);
  EXPECT_THAT(shifts, ElementsAre(0, 2));
}

TEST(FindPerimeterTest, IsTheLeastCommonMultipleWhereThatFits) {
  EXPECT_EQ(FindPerimeter(Shifts{7}, 100), 7u);
  EXPECT_EQ(FindPerimeter(Shifts{4, 6, 10}, 60), 60u);
  EXPECT_EQ(FindPerimeter(Shifts{100, 100}, 50'000), 100u);
}

TEST(FindPerimeterTest, StretchesNearlyEqualPeriodsAlike) {
  // The least common multiple is 1,003,000. On 1003 the shorter period is stretched by 0.3 %; any perimeter on which
  // repeats differ has at least 333 of one of them.
  EXPECT_EQ(FindPerimeter(Shifts{1000, 1003}, 50'000), 1003u);
}

// The greatest factor that a period is stretched by.
double Stretch(const Shifts& periods, uint32_t perimeter) {
  double stretch = 1;
  for (const uint32_t period : periods) {
    stretch = std::max(stretch,
                       static_cast<double>(perimeter) / std::floor(static_cast<double>(perimeter) / period) / period);
  }
  return stretch;
}

TEST(FindPerimeterTest, NoOtherPerimeterStretchesLess) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Shifts periods(1 + random.Below(4));
    for (uint32_t& period : periods) period = static_cast<uint32_t>(1 + random.Below(60));
    const uint32_t longest = *std::max_element(periods.begin(), periods.end());
    const auto most = static_cast<uint32_t>(longest + random.Below(200));
    const uint32_t found = FindPerimeter(periods, most);
    ASSERT_GE(found, longest);
    ASSERT_LE(found, most);
    for (uint32_t other = longest; other <= most; ++other) {
      EXPECT_LE(Stretch(periods, found), Stretch(periods, other) + 1e-12) << "seed " << seed << " other " << other;
    }
  }
}

// A few jobs with bursts on a small circle.
std::vector<Burst> DrawJobs(size_t num_jobs, uint32_t perimeter, Random* random) {
  std::vector<Burst> jobs(num_jobs);
  for (Burst& job : jobs) {
    job.repeats = static_cast<uint32_t>(1 + random->Below(3));
    const uint32_t period = perimeter / job.repeats;
    job.begin = static_cast<uint32_t>(random->Below(perimeter));
    job.length = static_cast<uint32_t>(1 + random->Below(period / 2));
    job.demand = random->Uniform(0.3, 1);
  }
  return jobs;
}

// Least excess of all shifts, tried one by one.
double LeastExcess(uint32_t perimeter, const std::vector<Burst>& jobs) {
  double least = std::numeric_limits<double>::infinity();
  Shifts shifts(jobs.size(), 0);
  while (true) {
    least = std::min(least, TotalExcess(perimeter, jobs, shifts));
    size_t j = 1;
    while (j < jobs.size() && ++shifts[j] == perimeter) shifts[j++] = 0;
    if (j >= jobs.size()) return least;
  }
}

TEST(UnifiedCircleTest, TwoJobsGetTheBestShiftThereIs) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto perimeter = static_cast<uint32_t>(12 * (1 + random.Below(5)));
    const std::vector<Burst> jobs = DrawJobs(2, perimeter, &random);
    const Shifts shifts = FindShifts(perimeter, jobs);
    EXPECT_NEAR(TotalExcess(perimeter, jobs, shifts), LeastExcess(perimeter, jobs), 1e-9) << "seed " << seed;
    EXPECT_LT(shifts[1], perimeter / jobs[1].repeats);
  }
}

TEST(UnifiedCircleTest, ThreeJobsComeCloseToAllShifts) {
  double found = 0;
  double least = 0;
  double unshifted = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const std::vector<Burst> jobs = DrawJobs(3, 24, &random);
    const double mine = TotalExcess(24, jobs, FindShifts(24, jobs));
    const double none = TotalExcess(24, jobs, Shifts{0, 0, 0});
    EXPECT_LE(mine, none + 1e-9) << "seed " << seed;
    found += mine;
    unshifted += none;
    least += LeastExcess(24, jobs);
  }
  EXPECT_LE(found, 1.02 * least);
  EXPECT_LT(found, 0.7 * unshifted) << "instances that need no shifts test nothing";
}

TEST(UnifiedCircleTest, ShiftingAllJobsAlikeChangesNothing) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const std::vector<Burst> jobs = DrawJobs(3, 36, &random);
    Shifts shifts;
    for (size_t j = 0; j < jobs.size(); ++j) shifts.push_back(static_cast<uint32_t>(random.Below(36)));
    const double before = Score(36, jobs, shifts);
    const auto turn = static_cast<uint32_t>(random.Below(36));
    for (uint32_t& shift : shifts) shift += turn;
    EXPECT_NEAR(Score(36, jobs, shifts), before, 1e-12);
  }
}

}  // namespace
}  // namespace fairlead::traffic::cassini
