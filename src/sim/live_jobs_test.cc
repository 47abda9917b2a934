#include "sim/live_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

// Writes down what it is told.
class NotedTraffic final : public LiveTraffic {
 public:
  std::vector<JobId> started, ended, sampled;
  std::vector<LiveCounters> counters;
  SimTime reached, changed = SimTime::Never();

  void Start(const LiveJob& job) override { started.push_back(job.job.id); }
  void End(JobId job) override { ended.push_back(job); }
  void SetLink(LinkId, bool) override {}
  SimTime next_sample() const override { return AtSimSecond(5); }
  void Sample(SimTime, std::span<const LiveCounters> found) override {
    for (const LiveCounters& one : found) sampled.push_back(one.job);
    counters.assign(found.begin(), found.end());
  }
  void AdvanceTo(SimTime limit) override { reached = limit; }
  SimTime changed_at() const override { return changed; }
  std::vector<LiveJobTraffic> TakeChanges() override {
    changed = SimTime::Never();
    return std::vector<LiveJobTraffic>(2);
  }
};

JobRecord RecordOf(uint32_t id, const model::Iteration& iteration) {
  JobRecord record;
  record.job.id = JobId(id);
  record.iteration = std::make_unique<model::Iteration>(iteration);
  record.state = std::make_unique<JobState>(StateOf(id, *record.iteration));
  return record;
}

TEST(LiveJobsTest, WithoutALiveClusterNothingIsEverDue) {
  LiveJobs none(nullptr);
  EXPECT_FALSE(none.exist());
  EXPECT_EQ(none.next_sample(), SimTime::Never());
  EXPECT_EQ(none.NextChange(AtSimSecond(9)), AtSimSecond(9));
  EXPECT_FALSE(none.TakeChanges(AtSimSecond(9)).has_value());
  none.End(JobId(1));
  none.SetLink(LinkId(0), false);
}

TEST(LiveJobsTest, OnlyJobsThatWereStartedAreSampledAndEnded) {
  const model::Iteration iteration = OneUplinkExample::Computing(1);
  const JobRecord first = RecordOf(1, iteration);
  const JobRecord second = RecordOf(2, iteration);
  NotedTraffic traffic;
  LiveJobs live(&traffic);
  live.Start(second);
  EXPECT_THAT(traffic.started, testing::ElementsAre(JobId(2)));
  EXPECT_TRUE(live.Contains(JobId(2)));
  live.Sample(AtSimSecond(5), std::vector<const JobState*>{first.state.get(), second.state.get()});
  EXPECT_THAT(traffic.sampled, testing::ElementsAre(JobId(2)));
  for (const uint32_t job : {1, 2, 2}) live.End(JobId(job));
  EXPECT_THAT(traffic.ended, testing::ElementsAre(JobId(2)));
}

TEST(LiveJobsTest, ItsTimeRunsAheadToTheNextChange) {
  NotedTraffic traffic;
  LiveJobs live(&traffic);
  traffic.changed = AtSimSecond(4);
  EXPECT_EQ(live.NextChange(AtSimSecond(9)), AtSimSecond(4));
  EXPECT_EQ(traffic.reached, AtSimSecond(9));
  EXPECT_FALSE(live.TakeChanges(AtSimSecond(3)).has_value());
  EXPECT_EQ(live.TakeChanges(AtSimSecond(4))->size(), 2u);
  EXPECT_FALSE(live.TakeChanges(AtSimSecond(4)).has_value());
}

// Two iterations of 1e12 FLOP and 1 s of compute, and 1 GB each.
TEST(LiveJobsTest, CountersSayWhatTheJobDidSinceItsStart) {
  OneUplinkExample example;
  const model::Iteration iteration = example.Sending(1, 1);
  JobState job = StateOf(1, iteration);
  job.iterations_done = 2;
  job.phase_runs[0] = 1;
  job.sent_before[0] = 1e9;
  const LiveCounters counters = CountersOf(job);
  EXPECT_NEAR(counters.flop.value(), 2e12, 1);
  EXPECT_NEAR(counters.busy.value(), 2, 1e-9);
  ASSERT_EQ(counters.flow_bytes.size(), 1u);
  EXPECT_NEAR(counters.flow_bytes[0].value(), 2e9, 1);
}

}  // namespace
}  // namespace fairlead::sim
