#include "sim/simulated_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

std::vector<model::Job> ThreeJobs() {
  std::vector<model::Job> jobs(3);
  for (uint32_t j = 0; j < 3; ++j) {
    jobs[j].id = JobId(j);
    jobs[j].num_gpus = 2;
    jobs[j].num_iterations = 10;
    jobs[j].elasticity.restart_cost = SimDuration(5'000'000'000);
  }
  jobs[2].hold_time = SimDuration(60'000'000'000);
  return jobs;
}

controller::StartJob StartOn(uint32_t job, uint32_t num_gpus) {
  controller::StartJob action{.job = JobId(job), .placement = {}, .reason = "room"};
  for (uint32_t g = 0; g < num_gpus; ++g) action.placement.gpus.emplace_back(g);
  return action;
}

const SoloReference kTenSecondsAlone = {{}, 10'000'000'000};

TEST(SimulatedJobsTest, RunningJobsAreByIdWhateverTheOrderOfStarts) {
  SimulatedJobs jobs(ThreeJobs(), {.random_phase = false});
  const model::Iteration iteration = OneUplinkExample::Computing(10);
  for (const uint32_t job : {2, 0, 1}) jobs.Start(AtSimSecond(1), StartOn(job, 2), iteration, kTenSecondsAlone);
  EXPECT_THAT(jobs.running(), testing::ElementsAre(JobId(0), JobId(1), JobId(2)));
  EXPECT_TRUE(jobs.Leave(JobId(1)));
  EXPECT_FALSE(jobs.Leave(JobId(1)));
  EXPECT_THAT(jobs.running(), testing::ElementsAre(JobId(0), JobId(2)));
}

TEST(SimulatedJobsTest, AJobOfFixedSizeBeginsAtOnce) {
  SimulatedJobs jobs(ThreeJobs(), {.random_phase = false});
  const model::Iteration iteration = OneUplinkExample::Computing(10);
  const JobRecord& record = jobs.Start(AtSimSecond(1), StartOn(0, 2), iteration, kTenSecondsAlone);
  EXPECT_EQ(record.state->first_start, AtSimSecond(1));
  EXPECT_EQ(record.state->num_iterations, 10u);
  EXPECT_EQ(record.state->iteration, record.iteration.get()) << "its own copy";
  EXPECT_EQ(record.hold_end, SimTime::Never());
  EXPECT_TRUE(record.sizes.empty());
  EXPECT_EQ(jobs.Start(AtSimSecond(1), StartOn(2, 2), iteration, kTenSecondsAlone).hold_end, AtSimSecond(61));
}

// 10 iterations, of which 4 are done in the first stretch.
TEST(SimulatedJobsTest, AJobThatIsResizedRestartsAndDoesWhatIsLeft) {
  SimulatedJobs jobs(ThreeJobs(), {.are_resized = true, .random_phase = false});
  const model::Iteration iteration = OneUplinkExample::Computing(10);
  JobRecord& record = jobs.Start(AtSimSecond(1), StartOn(0, 2), iteration, kTenSecondsAlone);
  EXPECT_EQ(record.state->first_start, AtSimSecond(6)) << "behind its restart";
  EXPECT_EQ(record.held_from, AtSimSecond(1));
  record.state->iterations_done = 4;
  jobs.Leave(JobId(0));
  jobs.Suspend(AtSimSecond(50), {.job = JobId(0), .reason = "others first"});
  EXPECT_EQ(record.state, nullptr);
  EXPECT_EQ(record.past.size(), 1u);
  jobs.Start(AtSimSecond(70), StartOn(0, 4), iteration, kTenSecondsAlone);
  EXPECT_EQ(record.state->num_iterations, 6u);
  EXPECT_EQ(record.state->num_gpus, 4u);
  ASSERT_EQ(record.sizes.size(), 3u);
  EXPECT_EQ(record.sizes[1].num_gpus, 0u);
  EXPECT_EQ(record.sizes[1].reason, "others first");
  EXPECT_EQ(record.sizes[2].num_gpus, 4u);
  EXPECT_EQ(StretchesOf(record).size(), 2u);
}

TEST(SimulatedJobsTest, JobsBeginSomewhereInTheirFirstIterationTheSameForASeed) {
  const model::Iteration iteration = OneUplinkExample::Computing(10);
  const auto start = [&](uint64_t seed, uint32_t job) {
    SimulatedJobs jobs(ThreeJobs(), {.phase_seed = seed});
    return jobs.Start(AtSimSecond(1), StartOn(job, 2), iteration, kTenSecondsAlone).state->first_start;
  };
  EXPECT_GE(start(1, 0), AtSimSecond(1));
  EXPECT_LT(start(1, 0), AtSimSecond(11));
  EXPECT_EQ(start(1, 0), start(1, 0));
  EXPECT_NE(start(1, 0), start(2, 0));
  EXPECT_NE(start(1, 0), start(1, 1));
}

}  // namespace
}  // namespace fairlead::sim
