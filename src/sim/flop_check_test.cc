// Jobs that claim more FLOP than their GPUs can do.
#include "sim/flop_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace fairlead::sim {
namespace {

using ::testing::HasSubstr;

constexpr double kPeak = 1e12;

model::Job MakeJob(uint32_t id, uint32_t num_gpus) {
  model::Job job;
  job.id = JobId(id);
  job.name = "hot";
  job.num_gpus = num_gpus;
  return job;
}

// A provider of iterations that do `share` of what 2 s of compute allow.
controller::IterationProvider Claiming(double share) {
  return [share](const model::Job& job, const model::Placement&) -> Result<model::Iteration> {
    model::Iteration iteration;
    iteration.compute_time = Seconds(2);
    iteration.work = Flop(share * 2 * job.num_gpus * kPeak);
    return iteration;
  };
}

TEST(FlopCheckTest, ShareOfPeak) {
  model::Iteration iteration;
  EXPECT_EQ(ClaimedShareOfPeak(MakeJob(0, 4), iteration, FlopPerSecond(kPeak)), 0);
  iteration.work = Flop(6e12);
  EXPECT_EQ(ClaimedShareOfPeak(MakeJob(0, 4), iteration, FlopPerSecond(kPeak)),
            std::numeric_limits<double>::infinity());
  iteration.compute_time = Seconds(2);
  EXPECT_DOUBLE_EQ(ClaimedShareOfPeak(MakeJob(0, 4), iteration, FlopPerSecond(kPeak)), 0.75);
}

TEST(FlopCheckTest, NamesJobFindingAndWhatToCheck) {
  FlopCheck check{FlopPerSecond(kPeak)};
  ASSERT_TRUE(check.Watch(Claiming(1.17))(MakeJob(3, 4), {}).ok());
  ASSERT_EQ(check.Describe().size(), 1u);
  const std::string sentence = check.Describe()[0];
  EXPECT_THAT(sentence, HasSubstr("Job 3 \"hot\" does more FLOP than its GPUs can"));
  EXPECT_THAT(sentence, HasSubstr("9.36e+12 FLOP per iteration in 2 s of compute on 4 GPUs is 117 % of their peak"));
  EXPECT_THAT(sentence, HasSubstr("gpu_peak_tflops"));
}

TEST(FlopCheckTest, WorkAtThePeakIsFine) {
  FlopCheck check{FlopPerSecond(kPeak)};
  for (const double share : {0.0, 0.5, 1.0, 1 + 1e-9})
    ASSERT_TRUE(check.Watch(Claiming(share))(MakeJob(0, 4), {}).ok());
  EXPECT_TRUE(check.Describe().empty());
}

TEST(FlopCheckTest, ManyJobsAreCounted) {
  FlopCheck check{FlopPerSecond(kPeak)};
  for (uint32_t id = 0; id < 8; ++id) ASSERT_TRUE(check.Watch(Claiming(2))(MakeJob(id, 4), {}).ok());
  ASSERT_EQ(check.Describe().size(), 6u);
  EXPECT_THAT(check.Describe().back(), HasSubstr("3 more jobs"));
}

}  // namespace
}  // namespace fairlead::sim
