#include "slurm/left_steps.h"

#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

using std::chrono::milliseconds;

const LeftSteps::Clock::time_point kBegin{};

TEST(LeftStepsTest, WhatASubjectIsAbout) {
  EXPECT_EQ(JobOrHostOf("reservation fairlead_job_7"), "job 7");
  EXPECT_EQ(JobOrHostOf("reservation fairlead_test_h3"), "host h3");
  EXPECT_EQ(JobOrHostOf("reservation fairlead_spares"), "reservation fairlead_spares");
  EXPECT_EQ(JobOrHostOf("job 7"), "job 7");
}

TEST(LeftStepsTest, LongEnoughAtEachLook) {
  LeftSteps left(milliseconds(100));
  EXPECT_FALSE(left.Note("job 7", kBegin));
  EXPECT_FALSE(left.Note("job 8", kBegin));
  left.EndLook(true);
  EXPECT_FALSE(left.Note("job 7", kBegin + milliseconds(99)));
  left.EndLook(true);
  EXPECT_TRUE(left.Note("job 7", kBegin + milliseconds(100)));
  EXPECT_TRUE(left.Note("job 7", kBegin + milliseconds(100))) << "twice in a look";
  EXPECT_FALSE(left.Note("job 8", kBegin + milliseconds(100))) << "somebody went on with it in between";
}

TEST(LeftStepsTest, ALookThatIsCutOffDoesNotCount) {
  LeftSteps left(milliseconds(100));
  left.Note("job 7", kBegin);
  left.EndLook(true);
  left.Note("job 8", kBegin + milliseconds(50));
  left.EndLook(false);
  EXPECT_TRUE(left.Note("job 7", kBegin + milliseconds(100))) << "it may have been left at that look, too";
  EXPECT_FALSE(left.Note("job 8", kBegin + milliseconds(150)));
}

}  // namespace
}  // namespace fairlead::slurm
