#include "sim/run_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

// Jobs that compute, on a fabric that nobody uses.
class RunEngineTest : public testing::Test {
 protected:
  RunEngineTest() : capacities_(example_.fabric.num_links(), 1e9), engine_(example_.fabric, capacities_, Options()) {
    engine_.Begin(example_.watch);
  }

  static RunEngine::Options Options() { return {.end = AtSimSecond(100), .num_bins = 10}; }
  JobState Job(uint32_t id, const model::Iteration& iteration, uint64_t num_iterations) {
    JobState job = StateOf(id, iteration, num_iterations);
    job.solo.iteration_ns = SimDuration::FromSeconds(iteration.compute_time).ns();
    return job;
  }

  OneUplinkExample example_;
  IdVector<LinkId, double> capacities_;
  RunEngine engine_;
  std::vector<TransferRoute> routes_;
  std::vector<LinkDemand> demand_;
};

TEST_F(RunEngineTest, WithoutJobsTimeGoesOnToTheLimit) {
  EXPECT_TRUE(engine_.Advance(AtSimSecond(7)).empty());
  EXPECT_EQ(engine_.now(), AtSimSecond(7));
}

TEST_F(RunEngineTest, TimeStopsAtEachFinishWithThoseWhoFinishReleased) {
  const model::Iteration quick = OneUplinkExample::Computing(2);
  const model::Iteration slow = OneUplinkExample::Computing(5);
  JobState first = Job(1, quick, 3);
  JobState second = Job(2, slow, 2);
  engine_.Rebuild(std::vector<RoutedJob>{{&first, &routes_, &demand_}, {&second, &routes_, &demand_}}, capacities_);
  EXPECT_FALSE(engine_.has_released());
  EXPECT_THAT(engine_.Advance(AtSimSecond(50)), testing::ElementsAre(JobId(1)));
  EXPECT_EQ(engine_.now(), AtSimSecond(6));
  EXPECT_TRUE(first.is_finished);
  EXPECT_TRUE(engine_.has_released());
  engine_.Rebuild(std::vector<RoutedJob>{{&second, &routes_, &demand_}}, capacities_);
  EXPECT_TRUE(engine_.Advance(AtSimSecond(8)).empty());
  engine_.ReleaseAll();
  EXPECT_EQ(second.iterations_done, 1u) << "up to date";
  EXPECT_EQ(second.progress_ns, 3'000'000'000);
  // Two GPUs each: 6 s and 8 s of computing.
  double busy = 0;
  for (const double bin : engine_.busy_gpu_seconds().bins()) busy += bin;
  EXPECT_NEAR(busy, 2 * (6 + 8), 1e-6);
}

TEST_F(RunEngineTest, ARunThatIsStoppedEndsNoEarlierThanItsLastEvent) {
  engine_.Advance(AtSimSecond(7));
  engine_.NoteEvent();
  engine_.Advance(AtSimSecond(9));
  example_.stop = true;
  example_.watch.Look(AtSimSecond(9));
  engine_.Finish();
  EXPECT_GE(engine_.now(), AtSimSecond(7));
  const model::Iteration iteration = OneUplinkExample::Computing(2);
  JobState job = Job(1, iteration, 3);
  engine_.Rebuild(std::vector<RoutedJob>{{&job, &routes_, &demand_}}, capacities_);
  engine_.Advance(AtSimSecond(100));
  EXPECT_FALSE(job.is_finished) << "nothing is simulated any more";
}

}  // namespace
}  // namespace fairlead::sim
