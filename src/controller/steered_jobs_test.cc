#include "controller/steered_jobs.h"

#include <gtest/gtest.h>

#include "controller/sick_host_example.h"

namespace fairlead::controller {
namespace {

constexpr JobId kKnownJob(1);
constexpr SimDuration kHoldOff(600);

std::vector<HostId> TwoHosts(uint32_t first) { return {HostId(first), HostId(first + 1)}; }

class SteeredJobsTest : public testing::Test {
 protected:
  SteeredJobsTest() { jobs_.Take(SimTime(0), JobRunning{.job = kKnownJob, .hosts = TwoHosts(0)}); }

  SteeredJobs jobs_{kHoldOff};
  model::Finding finding_ = SickHost(7, kKnownJob, HostId(0), SimTime(5));
};

TEST_F(SteeredJobsTest, AConfirmedFindingIsToBeJudgedOnce) {
  model::Finding open = finding_;
  open.state = model::FindingState::kSuspect;
  EXPECT_FALSE(jobs_.Hear(open));
  EXPECT_TRUE(jobs_.Hear(finding_));
  EXPECT_FALSE(jobs_.Hear(finding_));
  // A restarted diagnosis counts from 0 again: the same number, another first sight.
  EXPECT_TRUE(jobs_.Hear(SickHost(7, kKnownJob, HostId(0), SimTime(6))));
  EXPECT_FALSE(jobs_.Hear(SickHost(8, JobId(99), HostId(0), SimTime(6)))) << "no such job runs";
}

TEST_F(SteeredJobsTest, WhatIsHeldUpIsWhatWasHeardLast) {
  jobs_.Hear(finding_);
  EXPECT_EQ(jobs_.RuleOf(finding_), "");
  jobs_.HoldUp(finding_, "hour");
  EXPECT_EQ(jobs_.RuleOf(finding_), "hour");
  finding_.confidence = 0.99;
  jobs_.Hear(finding_);
  ASSERT_EQ(jobs_.AllHeldUp().size(), 1u);
  EXPECT_EQ(jobs_.AllHeldUp().front().confidence, 0.99);
  finding_.state = model::FindingState::kCleared;
  jobs_.Hear(finding_);
  EXPECT_FALSE(jobs_.IsHeldUp(finding_));
}

TEST_F(SteeredJobsTest, AnotherRunHoldsOffAndForgetsWhatWasHeldUp) {
  jobs_.HoldUp(finding_, "busy");
  jobs_.Take(SimTime(100), JobRunning{.job = kKnownJob, .hosts = TwoHosts(0)});
  EXPECT_TRUE(jobs_.IsHeldUp(finding_)) << "it is where it was";
  jobs_.Take(SimTime(100), JobRunning{.job = kKnownJob, .hosts = TwoHosts(4)});
  EXPECT_FALSE(jobs_.IsHeldUp(finding_));
  EXPECT_EQ(jobs_.at(kKnownJob).hold_off_until, SimTime(700));
  EXPECT_TRUE(jobs_.IsOfAny(HostId(5)));
  EXPECT_FALSE(jobs_.IsOfAny(HostId(0)));
  jobs_.HoldUp(finding_, "busy");
  EXPECT_EQ(jobs_.TakeRestart(SimTime(200), kKnownJob, TwoHosts(8)), TwoHosts(4));
  EXPECT_FALSE(jobs_.IsHeldUp(finding_));
  EXPECT_EQ(jobs_.at(kKnownJob).hold_off_until, SimTime(800));
  EXPECT_EQ(jobs_.at(kKnownJob).hosts, TwoHosts(8));
}

// It has a size chosen for it, as often as the cluster's load changes: like a first start.
TEST_F(SteeredJobsTest, AResizeForgetsWhatWasHeldUpAndHoldsNothingOff) {
  for (const HostChoice choice : {HostChoice::kSize, HostChoice::kAllocator}) {
    jobs_.HoldUp(finding_, "busy");
    jobs_.Take(SimTime(100), JobRunning{.job = kKnownJob, .hosts = TwoHosts(4), .host_choice = choice});
    EXPECT_FALSE(jobs_.IsHeldUp(finding_)) << "it was about the hosts before";
    EXPECT_EQ(jobs_.at(kKnownJob).hold_off_until, SimTime());
    jobs_.Take(SimTime(100), JobRunning{.job = kKnownJob, .hosts = TwoHosts(0), .host_choice = choice});
  }
  jobs_.TakeRestart(SimTime(200), kKnownJob, TwoHosts(8));
  jobs_.Take(SimTime(300), JobRunning{.job = kKnownJob, .hosts = TwoHosts(4), .host_choice = HostChoice::kSize});
  EXPECT_EQ(jobs_.at(kKnownJob).hold_off_until, SimTime(800)) << "steering's own restart has not shown its effect yet";
}

TEST_F(SteeredJobsTest, OnlyANewRunOrOtherHostsSayThatAPersonHasLooked) {
  jobs_.SetNeedsOperator(kKnownJob);
  jobs_.Take(SimTime(1), JobRunning{.job = kKnownJob, .hosts = TwoHosts(0), .is_new_run = false});
  EXPECT_TRUE(jobs_.at(kKnownJob).needs_operator);
  jobs_.Take(SimTime(1), JobRunning{.job = kKnownJob, .hosts = TwoHosts(0)});
  EXPECT_FALSE(jobs_.at(kKnownJob).needs_operator);
  jobs_.SetNeedsOperator(kKnownJob);
  jobs_.Take(SimTime(1), JobRunning{.job = kKnownJob, .hosts = TwoHosts(2), .is_new_run = false});
  EXPECT_FALSE(jobs_.at(kKnownJob).needs_operator);
}

TEST_F(SteeredJobsTest, APauseIsNewsOnce) {
  EXPECT_TRUE(jobs_.Take(PauseAnnounced{kKnownJob, SimTime(50), "upgrade"}));
  EXPECT_FALSE(jobs_.Take(PauseAnnounced{kKnownJob, SimTime(50), "upgrade"}));
  EXPECT_TRUE(jobs_.Take(PauseAnnounced{kKnownJob, SimTime(40), "sooner"})) << "the last message counts";
  EXPECT_EQ(jobs_.PausedUntil(kKnownJob), SimTime(40));
  EXPECT_FALSE(jobs_.Take(PauseAnnounced{JobId(99), SimTime(50), "upgrade"}));
  EXPECT_EQ(jobs_.PausedUntil(JobId(99)), SimTime());
}

TEST_F(SteeredJobsTest, WithANewDiagnosisFindingsAreMadeAgainAndNoHoldOffIsLongerThanFromNow) {
  jobs_.Hear(finding_);
  jobs_.HoldUp(finding_, "hour");
  jobs_.Take(SimTime(10'000), JobRunning{.job = kKnownJob, .hosts = TwoHosts(4)});
  jobs_.HoldUp(finding_, "hour");
  jobs_.BeginAnew(SimTime(100));  // the clock before was ahead
  EXPECT_FALSE(jobs_.IsHeldUp(finding_));
  EXPECT_TRUE(jobs_.Hear(finding_));
  EXPECT_EQ(jobs_.at(kKnownJob).hold_off_until, SimTime(700));
}

TEST_F(SteeredJobsTest, WhatIsKeptMakesTheSameJob) {
  jobs_.Hear(finding_);
  jobs_.HoldUp(finding_, "hour");
  jobs_.Take(PauseAnnounced{kKnownJob, SimTime(50), "upgrade"});
  SteeredJobs restored(kHoldOff);
  restored.Restore(kKnownJob, SteeredJobs::Keep(jobs_.at(kKnownJob)));
  EXPECT_EQ(restored.RuleOf(finding_), "hour");
  EXPECT_FALSE(restored.Hear(finding_)) << "judged";
  EXPECT_EQ(restored.PausedUntil(kKnownJob), SimTime(50));
  EXPECT_EQ(restored.at(kKnownJob).pause_reason, "upgrade");
  jobs_.Forget(kKnownJob);
  EXPECT_EQ(jobs_.Find(kKnownJob), nullptr);
}

}  // namespace
}  // namespace fairlead::controller
