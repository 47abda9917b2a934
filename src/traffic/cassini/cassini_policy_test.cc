#include "traffic/cassini/cassini_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "traffic/traffic_example.h"

namespace fairlead::traffic::cassini {
namespace {

using testing::HasSubstr;

// One second on a port of 200 Gb/s.
constexpr double kSecond = 25e9;

// Adds a job from host `from` to host `to` that computes and then sends at full rate.
void AddJob(uint32_t id, uint32_t from, uint32_t to, double compute, double sending, ExampleCluster* cluster) {
  cluster->AddJob(id, 1e15, {{cluster->gpu(from), cluster->gpu(to), Bytes(sending * kSecond), 0}}, Seconds(compute));
}

SimDuration Milliseconds(int64_t ms) { return SimDuration(ms * 1'000'000); }

// Two leaves of four hosts under one spine.
class CassiniOneSpineTest : public testing::Test {
 protected:
  CassiniOneSpineTest() : cluster_(MakeSmallClos(2, 4, 1)) {}

  TrafficPlan Plan() const { return CassiniPolicy().Plan(cluster_.Snapshot()); }

  ExampleCluster cluster_;
};

TEST_F(CassiniOneSpineTest, HalfDutyJobsAreShiftedByHalfAPeriod) {
  AddJob(0, 0, 4, 0.05, 0.05, &cluster_);
  AddJob(1, 1, 5, 0.05, 0.05, &cluster_);
  const TrafficPlan plan = Plan();
  EXPECT_EQ(plan.jobs[0].time_shift,
            (TimeShift{Milliseconds(100), Milliseconds(0), Milliseconds(5), ShiftUpkeep::kDrift}));
  EXPECT_EQ(plan.jobs[1].time_shift,
            (TimeShift{Milliseconds(100), Milliseconds(50), Milliseconds(5), ShiftUpkeep::kDrift}));
  EXPECT_EQ(plan.jobs[1].level, 0u);
  EXPECT_THAT(plan.jobs[1].reason,
              HasSubstr("every 0.1 s, shifted by 0.05 s, put right where it drifts; score 0.5 -> 1 on 1 links; "));
}

TEST_F(CassiniOneSpineTest, PeriodsOf40And60MillisecondsNeedAShiftOf10) {
  AddJob(0, 0, 4, 0.03, 0.01, &cluster_);
  AddJob(1, 1, 5, 0.05, 0.01, &cluster_);
  // Bursts of 10 ms that begin after 30 and 50 ms. Sent in [30, 40) mod 40 and [50 + d, 60 + d) mod 60; relative shifts
  // matter modulo 20: [10, 20) against [10 + d, 20 + d): free at d = 10 only.
  const TrafficPlan plan = Plan();
  EXPECT_EQ(plan.jobs[0].time_shift,
            (TimeShift{Milliseconds(40), Milliseconds(0), Milliseconds(2), ShiftUpkeep::kDrift}));
  EXPECT_EQ(plan.jobs[1].time_shift,
            (TimeShift{Milliseconds(60), Milliseconds(10), Milliseconds(3), ShiftUpkeep::kDrift}));
}

TEST_F(CassiniOneSpineTest, IterationsOfCenturiesAreNotShifted) {
  // A link may be left with so little that an iteration has no end in sight; the others go on as if it were not there.
  AddJob(0, 0, 4, 0.05, 0.05, &cluster_);
  AddJob(1, 1, 5, 1e10, 1e10, &cluster_);
  const TrafficPlan plan = Plan();
  EXPECT_FALSE(plan.jobs[0].time_shift.has_value());
  EXPECT_FALSE(plan.jobs[1].time_shift.has_value());
}

TEST_F(CassiniOneSpineTest, JobsWithoutContentionAreNotShifted) {
  AddJob(0, 0, 4, 0.05, 0.05, &cluster_);
  AddJob(1, 1, 2, 0.05, 0.05, &cluster_);
  cluster_.AddJob(2, 1, {});
  for (const JobPlan& job : Plan().jobs) EXPECT_FALSE(job.time_shift.has_value());
  EXPECT_THAT(Plan().jobs[0].reason, HasSubstr("no contended link on its paths: no shift"));
}

TEST_F(CassiniOneSpineTest, ALinkThatCarriesAllBurstsJoinsNoJobs) {
  // Each job's port is busy with traffic under its leaf, so that it uses the uplink at half its speed only.
  for (uint32_t j = 0; j < 2; ++j) {
    cluster_.AddJob(j, 1e15,
                    {{cluster_.gpu(j), cluster_.gpu(4 + j), Bytes(0.05 * kSecond), 0},
                     {cluster_.gpu(j), cluster_.gpu(2 + j), Bytes(0.05 * kSecond), 0}});
  }
  for (const JobPlan& job : Plan().jobs) EXPECT_FALSE(job.time_shift.has_value()) << job.reason;
}

TEST_F(CassiniOneSpineTest, AJobThatFitsNoCircleIsLeftAlone) {
  // Periods of 0.3 ms and 10 s: slots of 1 ms would stretch the first by more than 5 %.
  AddJob(0, 0, 4, 0.0001, 0.0002, &cluster_);
  AddJob(1, 1, 5, 5, 5, &cluster_);
  const TrafficPlan plan = Plan();
  EXPECT_FALSE(plan.jobs[0].time_shift.has_value());
  EXPECT_THAT(plan.jobs[0].reason, HasSubstr("finds no partner"));
  EXPECT_FALSE(plan.jobs[1].time_shift.has_value()) << "nobody left to interleave with";
}

TEST_F(CassiniOneSpineTest, PeriodsAreNeverShortenedAndHardlyStretched) {
  // 1000 and 1003 ms: both begin every 1003 ms.
  AddJob(0, 0, 4, 0.6, 0.4, &cluster_);
  AddJob(1, 1, 5, 0.603, 0.4, &cluster_);
  for (const JobPlan& job : Plan().jobs) {
    ASSERT_TRUE(job.time_shift.has_value());
    EXPECT_EQ(job.time_shift->period, Milliseconds(1003));
  }
}

TEST_F(CassiniOneSpineTest, LongIterationsGetLongerSlots) {
  // 120 s: slots of 3 ms, 40,000 of them.
  AddJob(0, 0, 4, 60, 60, &cluster_);
  AddJob(1, 1, 5, 60, 60, &cluster_);
  EXPECT_EQ(Plan().jobs[1].time_shift,
            (TimeShift{Milliseconds(120'000), Milliseconds(60'000), Milliseconds(6'000), ShiftUpkeep::kDrift}));
}

TEST_F(CassiniOneSpineTest, JobsThatNeedMoreThanThereIsTakeTurnsInALongerPeriod) {
  // Three jobs of 55 ms of compute and 45 ms of sending: 135 ms of sending in periods of 100 ms. In step 45 ms are
  // tripled, an excess of 90; at best the link is always busy, an excess of 35: scores .1 and .65. In 135 ms all fit.
  for (uint32_t j = 0; j < 3; ++j) AddJob(j, j, 4 + j, 0.055, 0.045, &cluster_);
  TrafficPlan plan = Plan();
  for (uint32_t j = 0; j < 3; ++j) {
    EXPECT_EQ(plan.jobs[j].time_shift, (TimeShift{Milliseconds(135), Milliseconds(int64_t{45} * j),
                                                  SimDuration(6'750'000), ShiftUpkeep::kEverySlot}));
  }
  EXPECT_THAT(plan.jobs[1].reason, HasSubstr("every 0.135 s, shifted by 0.045 s, each in its turn; score 0.1 -> 0.65"));
  plan = CassiniPolicy({.contended = ContendedUpkeep::kOnce}).Plan(cluster_.Snapshot());
  EXPECT_EQ(plan.jobs[1].time_shift->upkeep, ShiftUpkeep::kNever);
}

TEST_F(CassiniOneSpineTest, HopelessShiftsAreNotApplied) {
  // Both send for 97 of 100 ms: an excess of 97 in step, of 94 at best. The gain is .03.
  AddJob(0, 0, 4, 0.003, 0.097, &cluster_);
  AddJob(1, 1, 5, 0.003, 0.097, &cluster_);
  for (const JobPlan& job : Plan().jobs) {
    EXPECT_FALSE(job.time_shift.has_value());
    EXPECT_THAT(job.reason,
                HasSubstr("gains less than 0.05: no shift; score 0.03 -> 0.06 on 1 links that join 2 jobs"));
  }
  for (const JobPlan& job : CassiniPolicy({.min_score_gain = 0.02}).Plan(cluster_.Snapshot()).jobs) {
    EXPECT_TRUE(job.time_shift.has_value());
  }
}

// Three jobs meet in pairs on the ports of three hosts: a cycle.
TEST(CassiniPolicyTest, ACycleIsCutOrShiftsNobody) {
  ExampleCluster cluster(MakeSmallClos(2, 9, 1));
  for (uint32_t j = 0; j < 3; ++j) {
    std::vector<model::FlowDemand> flows;
    for (const uint32_t to : {6 + j, 6 + (j + 1) % 3}) {
      flows.push_back({cluster.gpu(2 * j + (to == 6 + j ? 0 : 1)), cluster.gpu(to), Bytes(0.03 * kSecond), 0});
    }
    cluster.AddJob(j, 1e15, flows, Seconds(0.07));
  }
  for (const JobPlan& job : CassiniPolicy().Plan(cluster.Snapshot()).jobs) {
    EXPECT_TRUE(job.time_shift.has_value());
    // Each port and the PCIe link behind it join two jobs: 12 edges, of which a tree over 3 jobs and 6 links keeps 8.
    EXPECT_THAT(job.reason, HasSubstr("4 of 12 affinity edges dropped"));
  }
  for (const JobPlan& job : CassiniPolicy({.loops = LoopRule::kNoShift}).Plan(cluster.Snapshot()).jobs) {
    EXPECT_FALSE(job.time_shift.has_value());
    EXPECT_THAT(job.reason, HasSubstr("contradict each other: no shift"));
  }
}

TEST(CassiniPolicyTest, ADepartureElsewhereMovesNoShift) {
  // Two spineless pairs: jobs 0 and 1 meet on the port of host 2, jobs 2 and 3 on that of host 6.
  const auto make = [](bool first_pair_is_there) {
    auto cluster = std::make_unique<ExampleCluster>(MakeSmallClos(2, 4, 1));
    if (first_pair_is_there) {
      AddJob(0, 0, 2, 0.05, 0.04, cluster.get());
      AddJob(1, 1, 2, 0.07, 0.02, cluster.get());
    }
    AddJob(2, 4, 6, 0.06, 0.04, cluster.get());
    AddJob(3, 5, 6, 0.05, 0.05, cluster.get());
    return cluster;
  };
  const TrafficPlan all = CassiniPolicy().Plan(make(true)->Snapshot());
  const TrafficPlan rest = CassiniPolicy().Plan(make(false)->Snapshot());
  ASSERT_TRUE(rest.jobs[1].time_shift.has_value());
  EXPECT_EQ(all.jobs[2].time_shift, rest.jobs[0].time_shift);
  EXPECT_EQ(all.jobs[3].time_shift, rest.jobs[1].time_shift);
  EXPECT_EQ(all.jobs[3].reason, rest.jobs[1].reason);
}

}  // namespace
}  // namespace fairlead::traffic::cassini
