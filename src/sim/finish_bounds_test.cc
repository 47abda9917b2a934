#include "sim/finish_bounds.h"

#include <gtest/gtest.h>

#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

// A job alone: one second of compute, of 100 bytes of communication at 100 bytes/s from its middle on.
struct LoneJob {
  OneLink link{100};
  JobState& job;

  explicit LoneJob(uint64_t num_iterations, bool blocks_compute = false)
      : job(link.Add(0.5, 1, 100, num_iterations, blocks_compute)) {}

  FinishBounds Bounds() {
    const DomainNetwork network(link.Layout(), {0}, nullptr);
    return FinishBounds(link.jobs, link.time, network);
  }
};

TEST(FinishBoundsTest, TheLeastIterationHasTopRates) {
  // 0.5 s + 1 s beside the rest of compute, or between its halves; a phase may be a nanosecond shorter by rounding.
  EXPECT_EQ(LoneJob(0).Bounds().LeastIterationNs(0), 3 * kSecondNs / 2 - 1);
  EXPECT_EQ(LoneJob(0, true).Bounds().LeastIterationNs(0), 2 * kSecondNs - 1);
}

TEST(FinishBoundsTest, TheSlowestJobHasTheLongestLeastIteration) {
  OneLink link(100);
  link.Add(0.5, 1, 100);
  link.Add(0.5, 3, 100);
  link.Add(0.5, 3, 100);
  const DomainNetwork network(link.Layout(), {0, 0, 0}, nullptr);
  EXPECT_EQ(FinishBounds(link.jobs, link.time, network).slowest_job(), 1u) << "the first of equals";
}

TEST(FinishBoundsTest, AnIterationFromBeforeCountsNothing) {
  LoneJob alone(10);
  alone.job.iteration_start = SimTime(20 * kSecondNs);
  alone.job.iterations_done = 4;
  const int64_t least = 3 * kSecondNs / 2 - 1;
  alone.link.time.offset_ns = 20 * kSecondNs;
  EXPECT_EQ(alone.Bounds().Promise(0).ns(), 20 * kSecondNs + 6 * least) << "begins with the domain";
  alone.link.time.offset_ns = 21 * kSecondNs;
  FinishBounds bounds = alone.Bounds();
  EXPECT_EQ(bounds.Promise(100).ns(), 21 * kSecondNs + 100 + 5 * least) << "five after the next event";
  bounds.EndIteration(0);
  ++alone.job.iterations_done;
  alone.job.iteration_start = SimTime(22 * kSecondNs);
  EXPECT_EQ(bounds.Promise(100).ns(), 22 * kSecondNs + 5 * least);
}

TEST(FinishBoundsTest, EndlessJobsNeverFinish) {
  EXPECT_EQ(LoneJob(0).Bounds().Promise(0), SimTime::Never());
  EXPECT_EQ(LoneJob(10).Bounds().Promise(kNeverNs), SimTime::Never()) << "nothing will happen any more";
}

TEST(FinishBoundsTest, SlackIsWhatASkipMayBeTooFastWithoutBreakingAPromise) {
  LoneJob alone(10);
  FinishBounds bounds = alone.Bounds();
  const int64_t least = 3 * kSecondNs / 2 - 1;
  EXPECT_EQ(bounds.SlackNs(0), 10 * least) << "nothing is promised";
  bounds.Promise(0);
  EXPECT_EQ(bounds.SlackNs(0), 0);
  // Two iterations in five seconds: two of them were lost.
  alone.job.iterations_done = 2;
  alone.job.iteration_start = SimTime(5 * kSecondNs);
  EXPECT_EQ(bounds.SlackNs(0), 5 * kSecondNs - 2 * least);
  alone.job.iteration_start = SimTime(kSecondNs);
  EXPECT_EQ(bounds.SlackNs(0), 0) << "never negative";
}

}  // namespace
}  // namespace fairlead::sim
