#include "slurm/readings.h"

#include <gtest/gtest.h>

namespace fairlead::slurm {
namespace {

std::shared_ptr<const ClusterState> StateOf(const std::vector<JobState>& jobs) {
  ClusterState state;
  for (const JobState job : jobs) {
    state.jobs.emplace_back();
    state.jobs.back().state = job;
  }
  return std::make_shared<const ClusterState>(std::move(state));
}

TEST(ReadingsTest, AReadingThatFailsLeavesWhatWasShown) {
  Readings readings;
  EXPECT_EQ(readings.state(), nullptr);
  EXPECT_FALSE(readings.shown().numbers.answers);
  readings.Note(OkStatus(), Seconds(0.5));
  const auto state = StateOf({JobState::kRunning, JobState::kPending, JobState::kRunning});
  readings.Show(state, 3, SimTime(5));
  for (int i = 0; i < 2; ++i) readings.Note(Unavailable("is away"), Seconds(1));
  const Readings::Shown shown = readings.shown();
  EXPECT_EQ(shown.state, state);
  EXPECT_EQ(shown.read_at, SimTime(5));
  EXPECT_EQ(shown.status.message(), "is away");
  EXPECT_FALSE(shown.numbers.answers);
  EXPECT_EQ(shown.numbers.readings, 3u);
  EXPECT_EQ(shown.numbers.failures, 2u);
  EXPECT_EQ(shown.numbers.reading, Seconds(2.5));
  EXPECT_EQ(shown.numbers.hosts_not_in_fabric, 3u);
  EXPECT_EQ(shown.numbers.jobs, (std::map<std::string, uint64_t>{{"pending", 1}, {"running", 2}}));
}

TEST(ReadingsTest, JobsAreThoseOfTheLastReading) {
  Readings readings;
  readings.Show(StateOf({JobState::kRunning}), 0, SimTime(1));
  readings.SetJobsStopped(2);
  readings.Show(StateOf({JobState::kCompleting}), 0, SimTime(2));
  EXPECT_EQ(readings.shown().numbers.jobs, (std::map<std::string, uint64_t>{{"completing", 1}}));
  EXPECT_EQ(readings.shown().numbers.jobs_stopped, 2u) << "no matter of readings";
}

}  // namespace
}  // namespace fairlead::slurm
