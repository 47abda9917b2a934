#include "sim/domain_counters.h"

#include <gtest/gtest.h>

namespace fairlead::sim {
namespace {

DomainCounters ThenCounters() {
  return {.iterations = {10, 3},
          .phase_runs = {10, 9, 3},
          .losses = {{1, 2}},
          .bounds = {0.5},
          .delay_shares = {{}, {}},
          .congestion = CongestionCounts{.jobs = {{.cnps = 5}, {}}, .queue_byte_s = {2, 0}}};
}

DomainCounters NowCounters() {
  return {.iterations = {12, 3},
          .phase_runs = {12, 10, 3},
          .losses = {{1.5, 3}, {0.25, 0.5}},
          .bounds = {0.75, 2},
          .delay_shares = {{}, {}},
          .congestion = CongestionCounts{.jobs = {{.cnps = 9}, {}}, .queue_byte_s = {3, 0.5}}};
}

TEST(DomainCountersTest, AChangeCountsAsOftenAsWanted) {
  const DomainCounters change = NowCounters().ChangeSince(ThenCounters(), 100);
  EXPECT_EQ(change.iterations, (std::vector<uint64_t>{200, 0}));
  EXPECT_EQ(change.phase_runs, (std::vector<uint64_t>{200, 100, 0}));
  EXPECT_EQ(change.losses[0].s, 50);
  EXPECT_EQ(change.losses[0].gpu_s, 100);
  EXPECT_EQ(change.losses[1].s, 25) << "the account did not have this row then";
  EXPECT_EQ(change.bounds, (std::vector<double>{25, 200}));
  EXPECT_EQ(change.congestion->jobs[0].cnps, 400);
  EXPECT_EQ(change.congestion->queue_byte_s, (std::vector<double>{100, 50}));
}

TEST(DomainCountersTest, EarlierCountersMoveAlong) {
  const DomainCounters change = NowCounters().ChangeSince(ThenCounters(), 100);
  DomainCounters then = ThenCounters();
  DomainCounters now = NowCounters();
  then.Add(change);
  now.Add(change);
  const DomainCounters same = now.ChangeSince(then, 1);
  EXPECT_EQ(same.iterations, (std::vector<uint64_t>{2, 0}));
  EXPECT_EQ(same.phase_runs, (std::vector<uint64_t>{2, 1, 0}));
  EXPECT_EQ(same.losses[1].gpu_s, 0.5);
  EXPECT_EQ(same.bounds, (std::vector<double>{0.25, 2}));
  EXPECT_EQ(same.congestion->jobs[0].cnps, 4);
  EXPECT_EQ(same.congestion->queue_byte_s, (std::vector<double>{1, 0.5}));
}

TEST(DomainCountersTest, AreReadFromJobsAndAccount) {
  JobState first, second;
  first.iterations_done = 7;
  first.phase_runs = {7, 6};
  second.phase_runs = {0};
  second.delay_shares = {{LossCause::kJob, JobId(0), LinkId(1), 0.5}};
  DelayAccount account;
  account.bounds.Add({JobId(0), LinkId(1)}, 4);
  JobState* const jobs[] = {&first, &second};
  const DomainCounters counters = ReadCounters(jobs, account, nullptr);
  EXPECT_EQ(counters.iterations, (std::vector<uint64_t>{7, 0}));
  EXPECT_EQ(counters.phase_runs, (std::vector<uint64_t>{7, 6, 0}));
  EXPECT_EQ(counters.bounds, (std::vector<double>{4}));
  EXPECT_EQ(counters.delay_shares, (std::vector<std::vector<double>>{{}, {0.5}}));
  EXPECT_FALSE(counters.congestion.has_value());
}

}  // namespace
}  // namespace fairlead::sim
