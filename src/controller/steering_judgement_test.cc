#include "controller/steering_judgement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/sick_host_example.h"

namespace fairlead::controller {
namespace {

constexpr JobId kJudgedJob(1);
constexpr int64_t kHourNs = 3'600'000'000'000;

// A job on hosts 0..39 of a cluster of 1,000, four spares, and a finding about host 7, which is acted upon as it is.
class SteeringJudgementTest : public testing::Test {
 protected:
  SteeringJudgementTest() {
    options_.mode = SteeringMode::kAct;
    for (uint32_t host = 0; host < 40; ++host) job_.hosts.emplace_back(host);
    for (uint32_t spare = 100; spare < 104; ++spare) hosts_.Free(HostId(spare));
  }

  Objection Judge() const {
    const SteeringView view{now_, options_, 1000, job_, hosts_, sequences_, history_};
    return FindObjection(view, finding_, GuiltyHosts(job_, finding_));
  }
  std::string_view Rule() const { return Judge().rule; }
  void Accuse(const std::vector<uint32_t>& hosts) {
    finding_.culprits.clear();
    for (const uint32_t host : hosts) {
      finding_.culprits.emplace_back().kind = model::CulpritKind::kHost;
      finding_.culprits.back().host = HostId(host);
    }
  }

  SimTime now_ = SimTime(100 * kHourNs);
  SteeringOptions options_;
  SteeredJob job_;
  SteeredHosts hosts_;
  std::map<JobId, SteeringSequence> sequences_;
  IsolationHistory history_;
  model::Finding finding_ = SickHost(1, kJudgedJob, HostId(7), SimTime(0));
};

TEST_F(SteeringJudgementTest, NothingSpeaksAgainstASureFindingAboutOneHost) { EXPECT_EQ(Rule(), ""); }

TEST_F(SteeringJudgementTest, GuiltyAreHostsOfTheJobOnceAndInOrder) {
  Accuse({9, 7, 200, 9});
  EXPECT_THAT(GuiltyHosts(job_, finding_), testing::ElementsAre(HostId(7), HostId(9)));
  finding_.action = model::RecommendedAction::kRestart;
  EXPECT_TRUE(GuiltyHosts(job_, finding_).empty());
}

TEST_F(SteeringJudgementTest, WhatTheFindingSaysItself) {
  finding_.syndrome = model::Syndrome::kMismatch;
  EXPECT_EQ(Rule(), "software");
  finding_.syndrome = model::Syndrome::kNonCommHang;
  finding_.action = model::RecommendedAction::kRepairPath;
  EXPECT_EQ(Rule(), "network");
  finding_.action = model::RecommendedAction::kWatch;
  EXPECT_EQ(Rule(), "watch");
  finding_.action = model::RecommendedAction::kIsolateAndRestart;
  Accuse({200});
  EXPECT_EQ(Rule(), "no host");
  Accuse({0, 1, 2, 3, 4, 5, 6, 7, 8});  // 9 of 40 are more than a fifth
  EXPECT_EQ(Rule(), "fabric");
  Accuse({7});
  finding_.confidence = 0.79;
  EXPECT_EQ(Rule(), "confidence");
  finding_.confidence = 0.8;
  job_.has_unverified_owner = true;
  EXPECT_EQ(Rule(), "owner");
  job_.has_unverified_owner = false;
  EXPECT_FALSE(Judge().may_pass);
  finding_.signs = {model::Sign::kPeers};
  EXPECT_EQ(Rule(), "signs");
  EXPECT_TRUE(Judge().may_pass);
}

TEST_F(SteeringJudgementTest, TheModeIsSaidBeforeWhatMayPassAndRecommendedOnlyWithinLimits) {
  job_.needs_operator = true;
  options_.mode = SteeringMode::kObserve;
  EXPECT_EQ(Rule(), "observe");
  options_.mode = SteeringMode::kRecommend;
  EXPECT_EQ(Rule(), "operator");
  job_.needs_operator = false;
  EXPECT_EQ(Rule(), "recommend");
  while (hosts_.TakeSpare()) {
  }
  EXPECT_EQ(Rule(), "spares");
}

// From the last rule to the first: each comes before those that apply already.
TEST_F(SteeringJudgementTest, WhatIsUnderWayComesInThisOrder) {
  job_.hold_off_until = now_ + SimDuration(310'000'000'000);
  EXPECT_EQ(Judge().text, "the job restarted recently; wait 310 s");
  job_.paused_until = now_ + SimDuration(1);
  job_.pause_reason = "upgrade";
  EXPECT_EQ(Judge().text, "a pause of the job was announced (upgrade)");
  sequences_[JobId(2)].hosts = {HostId(7)};
  EXPECT_EQ(Rule(), "shared");
  sequences_[JobId(2)].waits_for_spare = true;
  EXPECT_EQ(Rule(), "pause") << "who waits for a spare has no host in hand";
  hosts_.BeginIsolation(HostId(7));
  hosts_.FinishIsolation(HostId(7));
  hosts_.BeginReturn(HostId(7));
  EXPECT_EQ(Rule(), "returning");
  sequences_[kJudgedJob] = {};
  EXPECT_EQ(Rule(), "busy");
  job_.needs_operator = true;
  EXPECT_EQ(Rule(), "operator");
  EXPECT_TRUE(Judge().may_pass);
}

TEST_F(SteeringJudgementTest, PausesAndHoldOffEnd) {
  job_.paused_until = job_.hold_off_until = now_;
  EXPECT_EQ(Rule(), "");
}

TEST_F(SteeringJudgementTest, SparesAreNeededForAllHostsOfTheJobThatAreIsolated) {
  for (const uint32_t host : {20, 21, 22}) hosts_.BeginIsolation(HostId(host));
  EXPECT_EQ(Rule(), "");
  hosts_.BeginIsolation(HostId(23));
  EXPECT_EQ(Judge().text, "4 spares for 5 hosts");
  // A dead one is out of its job anyway.
  finding_.syndrome = model::Syndrome::kDead;
  EXPECT_EQ(Rule(), "");
}

TEST_F(SteeringJudgementTest, LimitsOfAnHourAndOfADay) {
  options_.max_job_share_per_day = 0.1;        // 4 of 40
  options_.max_cluster_share_per_day = 0.006;  // 6 of 1,000
  history_.Add(now_ - SimDuration(kHourNs) + SimDuration(1), kJudgedJob);
  EXPECT_EQ(Rule(), "");
  history_.Add(now_ - SimDuration(kHourNs) + SimDuration(1), kJudgedJob);
  EXPECT_EQ(Judge().text, "limit: 2 hosts of a job per hour");
  now_ = now_ + SimDuration(1);
  EXPECT_EQ(Rule(), "") << "an hour ago is not within it";
  for (int i = 0; i < 2; ++i) history_.Add(now_ - SimDuration(2 * kHourNs), kJudgedJob);
  EXPECT_EQ(Judge().text, "limit: 4 hosts of this job per day");
  history_ = IsolationHistory();
  for (int i = 0; i < 6; ++i) history_.Add(now_, JobId(2));
  EXPECT_EQ(Judge().text, "limit: 6 hosts of the cluster per day");
  // A restart isolates nobody.
  finding_.action = model::RecommendedAction::kRestart;
  EXPECT_EQ(Rule(), "");
}

}  // namespace
}  // namespace fairlead::controller
