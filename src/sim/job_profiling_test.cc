#include "sim/job_profiling.h"

#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

constexpr SimDuration kProfiledFor(30'000'000'000);

class JobProfilingTest : public testing::Test {
 protected:
  void Begin(JobState* job, double now_s) {
    const std::vector<TransferRoute> routes = ComputeRoutes(*job, capacities_);
    profiling_.Begin(job, routes, AtSimSecond(now_s));
  }

  OneUplinkExample example_;
  IdVector<LinkId, double> capacities_{example_.fabric.num_links(), 1e9};
  model::Iteration computing_ = OneUplinkExample::Computing(10);
  model::Iteration sending_ = example_.Sending(1, 1);
  JobProfiling profiling_{example_.fabric, kProfiledFor, SimDuration(50'000'000'000)};
};

TEST_F(JobProfilingTest, AWindowBeginsWithTheJobsFirstIteration) {
  JobState job = StateOf(4, computing_, 0, AtSimSecond(7));
  EXPECT_EQ(profiling_.end(), SimTime::Never());
  Begin(&job, 5);
  EXPECT_EQ(profiling_.end(), AtSimSecond(37));
  EXPECT_EQ(profiling_.job(), JobId(4));
  EXPECT_NE(job.watch, nullptr);
  profiling_.Cancel(JobId(3));
  EXPECT_EQ(profiling_.end(), AtSimSecond(37));
  profiling_.Cancel(JobId(4));
  EXPECT_EQ(profiling_.end(), SimTime::Never());
  EXPECT_EQ(job.watch, nullptr);
}

// It computes all the time, 1e12 FLOP in 10 s: 3e12 in the window.
TEST_F(JobProfilingTest, ASilentJobIsOneLongIterationAndNoErrorIsKnown) {
  JobState job = StateOf(4, computing_);
  Begin(&job, 0);
  job.iterations_done = 3;
  const auto measured = profiling_.Read(job, AtSimSecond(30));
  ASSERT_TRUE(measured.has_value());
  EXPECT_EQ(measured->job, JobId(4));
  EXPECT_NEAR(measured->profile.work.value(), 3e12, 1);
  EXPECT_FALSE(measured->error.has_value());
  EXPECT_EQ(profiling_.end(), SimTime::Never());
}

// One burst in 30 s has no period: the window is doubled, which is longer than is looked at most, and then counts as
// one iteration.
TEST_F(JobProfilingTest, AWindowWithoutAPeriodGrowsAndIsGivenUpInTheEnd) {
  JobState job = StateOf(4, sending_);
  job.paths = example_.PathsOf(sending_);
  Begin(&job, 0);
  job.phase_runs[0] = 1;
  job.iterations_done = 1;
  job.watch->bytes.assign(1000, 0);
  job.watch->bytes[500] = 1e9;
  ASSERT_FALSE(profiling_.Read(job, AtSimSecond(30)).has_value());
  EXPECT_EQ(profiling_.end(), AtSimSecond(60));
  const auto measured = profiling_.Read(job, AtSimSecond(60));
  ASSERT_TRUE(measured.has_value());
  EXPECT_NEAR(measured->profile.iteration_time.value(), 60, 1e-9);
  EXPECT_FALSE(measured->error.has_value());
}

}  // namespace
}  // namespace fairlead::sim
