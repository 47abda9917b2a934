#include "slurm/left_steps.h"

#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

TEST(LeftStepsTest, WhatASubjectIsAbout) {
  EXPECT_EQ(JobOrHostOf("reservation fairlead_job_7"), "job 7");
  EXPECT_EQ(JobOrHostOf("reservation fairlead_test_h3"), "host h3");
  EXPECT_EQ(JobOrHostOf("reservation fairlead_spares"), "reservation fairlead_spares");
  EXPECT_EQ(JobOrHostOf("job 7"), "job 7");
}

TEST(LeftStepsTest, LongEnoughAtEachLook) {
  LeftSteps left(SimDuration(100));
  EXPECT_FALSE(left.Note("job 7", SimTime(0)));
  EXPECT_FALSE(left.Note("job 8", SimTime(0)));
  left.EndLook(true);
  EXPECT_FALSE(left.Note("job 7", SimTime(99)));
  left.EndLook(true);
  EXPECT_TRUE(left.Note("job 7", SimTime(100)));
  EXPECT_TRUE(left.Note("job 7", SimTime(100))) << "twice in a look";
  EXPECT_FALSE(left.Note("job 8", SimTime(100))) << "somebody went on with it in between";
}

TEST(LeftStepsTest, ALookThatIsCutOffDoesNotCount) {
  LeftSteps left(SimDuration(100));
  left.Note("job 7", SimTime(0));
  left.EndLook(true);
  left.Note("job 8", SimTime(50));
  left.EndLook(false);
  EXPECT_TRUE(left.Note("job 7", SimTime(100))) << "it may have been left at that look, too";
  EXPECT_FALSE(left.Note("job 8", SimTime(150)));
}

// Nobody could go on with anything while Slurm was away.
TEST(LeftStepsTest, TimeWithoutSlurmDoesNotCount) {
  LeftSteps left(SimDuration(100));
  left.Note("job 7", SimTime(0));
  left.EndLook(true);
  left.Skip(SimDuration(3600));
  EXPECT_FALSE(left.Note("job 7", SimTime(3690)));
  left.EndLook(true);
  EXPECT_TRUE(left.Note("job 7", SimTime(3700)));
}

}  // namespace
}  // namespace fairlead::slurm
