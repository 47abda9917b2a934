// Runs without processes: when they count as lost, and when nothing is known.
#include "slurm/lost_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class LostRunsTest : public testing::Test {
 protected:
  static Job Running(uint32_t id, std::vector<std::string> hosts) {
    Job job;
    job.id = id;
    job.state = JobState::kRunning;
    job.hosts = std::move(hosts);
    return job;
  }
  std::vector<LostRun> LookAt(double time_s) {
    return lost_.Look(jobs_, processes_, SimTime::FromSeconds(Seconds(time_s)));
  }

  LostRuns lost_{SimDuration::FromSeconds(Seconds(180))};
  std::vector<Job> jobs_{Running(7, {"h0", "h1"})};
  std::map<std::string, std::set<uint32_t>> processes_{{"h0", {8}}, {"h1", {}}};
};

TEST_F(LostRunsTest, ARunWithoutAProcessIsLostAfterAWhile) {
  EXPECT_THAT(LookAt(1000), IsEmpty());
  EXPECT_THAT(LookAt(1179), IsEmpty());
  const auto lost = LookAt(1180);
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].job, 7u);
  EXPECT_EQ(lost[0].since, SimTime::FromSeconds(Seconds(1000)));
  EXPECT_TRUE(lost[0].is_news);
  EXPECT_EQ(WordsOfLostRun(lost[0], jobs_[0], SimTime::FromSeconds(Seconds(1180))),
            "Slurm says that it runs on h[0-1], and for 180 s no process of it was seen there");
  EXPECT_FALSE(LookAt(1181)[0].is_news);
  // It was started again: another run.
  ++jobs_[0].num_restarts;
  EXPECT_THAT(LookAt(1182), IsEmpty());
}

TEST_F(LostRunsTest, AProcessOnOneHostIsEnough) {
  LookAt(1000);
  processes_["h1"].insert(7);  // the batch script is there only
  EXPECT_THAT(LookAt(1100), IsEmpty());
  processes_["h1"].clear();
  EXPECT_THAT(LookAt(1200), IsEmpty()) << "from the start";
  EXPECT_THAT(LookAt(1380), SizeIs(1));
}

TEST_F(LostRunsTest, WhatNobodySeesIsNotLost) {
  LookAt(1000);
  processes_.erase("h1");  // its agent is away, or no slurmd is there
  EXPECT_THAT(LookAt(1200), IsEmpty());
  processes_["h1"];
  EXPECT_THAT(LookAt(1300), IsEmpty());
  lost_.Forget();
  EXPECT_THAT(LookAt(1500), IsEmpty());
  EXPECT_THAT(LookAt(1680), SizeIs(1));
  for (const JobState state :
       {JobState::kPending, JobState::kConfiguring, JobState::kSuspended, JobState::kCompleting}) {
    jobs_[0].state = state;
    EXPECT_THAT(LookAt(2000), IsEmpty());
  }
  jobs_[0].state = JobState::kRunning;
  jobs_[0].reason = "Prolog";
  LookAt(2000);
  EXPECT_THAT(LookAt(2500), IsEmpty());
  jobs_[0].reason.clear();
  jobs_[0].is_single = false;
  LookAt(3000);
  EXPECT_THAT(LookAt(4000), IsEmpty());
}

}  // namespace
}  // namespace fairlead::slurm
