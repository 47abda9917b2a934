// What slurmctld's log says of runs that were not launched; lines are those of 22.05.8.
#include "slurm/launch_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

constexpr char kRevoked[] =
    "[2026-11-29T02:38:42.879] sched/backfill: _start_job: Started JobId=5 in train on h[0-1]\n"
    "[2026-11-29T02:38:46.945] Recovered JobId=5 Assoc=0\n"
    "[2026-11-29T02:38:51.003] error: Registered PENDING JobId=5 StepId=5.batch on node h0\n"
    "[2026-11-29T02:38:51.946] sched/backfill: _start_job: Started JobId=5 in train on h[0-1]\n"
    "[2026-11-29T02:38:51.952] Killing non-startable batch JobId=5: Job credential revoked\n"
    "[2026-11-29T02:38:51.952] _job_complete: JobId=5 WEXITSTATUS 1\n"
    "[2026-11-29T02:38:51.953] _job_complete: JobId=5 done\n";

TEST(LaunchLogTest, ARunThatWasNotLaunchedHasALine) {
  EXPECT_EQ(WhyNotLaunched(kRevoked, 5), "Job credential revoked");
  for (const uint32_t other : {1u, 50u, 51u, 15u}) EXPECT_EQ(WhyNotLaunched(kRevoked, other), std::nullopt) << other;
  EXPECT_EQ(WhyNotLaunched("", 5), std::nullopt);
  // By the other scheduler, and from the middle of a line on.
  EXPECT_EQ(
      WhyNotLaunched("backfill\n[2026-11-29T02:38:51.9] sched: Allocate JobId=5 NodeList=h0 #CPUs=4 Partition=train\n"
                     "[2026-11-29T02:38:51.9] Killing non-startable batch JobId=5: Some\x01 reason",
                     5),
      "Some? reason");
}

// Whose script has ended with 1: before that it was not launched once, or it is another job that was not.
TEST(LaunchLogTest, TheLastRunCounts) {
  const std::string again =
      "[2026-11-29T02:39:51.946] sched/backfill: _start_job: Started JobId=5 in train on h[0-1]\n"
      "[2026-11-29T02:39:59.952] _job_complete: JobId=5 WEXITSTATUS 1\n";
  EXPECT_EQ(WhyNotLaunched(kRevoked + again, 5), std::nullopt);
  EXPECT_EQ(WhyNotLaunched(again + kRevoked, 5), "Job credential revoked");
  EXPECT_EQ(WhyNotLaunched(kRevoked + again + kRevoked, 5), "Job credential revoked");
  const std::string started_before =
      "[2026-11-29T02:38:51.952] Killing non-startable batch JobId=5: Job credential revoked\n";
  EXPECT_EQ(WhyNotLaunched(started_before, 5), std::nullopt) << "the log begins behind its start";
}

// Not at the beginning of a line, it is text of somebody's.
TEST(LaunchLogTest, WhatIsInTheMiddleOfALineIsText) {
  EXPECT_EQ(WhyNotLaunched(
                "[2026-11-29T02:38:51.9] sched: Allocate JobId=5 NodeList=h0\n"
                "[2026-11-29T02:38:52.9] _update_job: setting comment to Killing non-startable batch JobId=5: x for "
                "JobId=9\n",
                5),
            std::nullopt);
}

}  // namespace
}  // namespace fairlead::slurm
