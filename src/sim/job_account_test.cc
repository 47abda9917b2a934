#include "sim/job_account.h"

#include <gtest/gtest.h>

#include "sim/healthy_fabric.h"
#include "sim/simulation_components_example.h"
#include "traffic/ecmp/ecmp_policy.h"

namespace fairlead::sim {
namespace {

double LostTo(const DelayAccount& delays, LossCause cause) {
  double lost_s = 0;
  for (const auto& [key, place] : delays.losses.index()) {
    if (key.cause == cause) lost_s += delays.losses.values()[place].s;
  }
  return lost_s;
}

// A job that computes 10 s an iteration, restarted from 1 s to 3 s, and is in the middle of its third iteration.
class CloseAccountTest : public testing::Test {
 protected:
  CloseAccountTest() {
    job_.solo.iteration_ns = 10'000'000'000;
    job_.iterations_done = 2;
    job_.progress_ns = 5'000'000'000;
    job_.observed_until = AtSimSecond(28);
  }

  model::Iteration iteration_ = OneUplinkExample::Computing(10);
  JobState job_ = StateOf(0, iteration_, 0, AtSimSecond(3));
  std::vector<TransferRoute> routes_;
  DelayAccount delays_;
};

TEST_F(CloseAccountTest, TheOpenIterationCountsAtTheEndOfTheRun) {
  CloseAccount({.routes = routes_}, job_, delays_);
  EXPECT_DOUBLE_EQ(job_.open_work, 0.5);
  EXPECT_TRUE(delays_.losses.values().empty());
}

TEST_F(CloseAccountTest, ARestartAndTheIterationThatIsThrownAwayAreLost) {
  CloseAccount({.routes = routes_, .restarted_at = AtSimSecond(1), .last = LastIteration::kIsThrownAway}, job_,
               delays_);
  EXPECT_EQ(job_.open_work, 0);
  EXPECT_DOUBLE_EQ(LostTo(delays_, LossCause::kRestart), 2 + 5);
}

TEST_F(CloseAccountTest, AJobThatWasStoppedInItsRestartHasOnlyLostThat) {
  job_.observed_until = AtSimSecond(2);
  CloseAccount({.routes = routes_, .restarted_at = AtSimSecond(1), .last = LastIteration::kIsThrownAway}, job_,
               delays_);
  EXPECT_DOUBLE_EQ(LostTo(delays_, LossCause::kRestart), 1);
}

TEST_F(CloseAccountTest, AJobHasDoneNoMoreThanItHadTo) {
  job_.num_iterations = 2;
  CloseAccount({.routes = routes_}, job_, delays_);
  EXPECT_EQ(job_.open_work, 0);
}

TEST(CloseAccountOfSenderTest, ATransferWithoutAPathThatIsWaitedForCutsTheJobOff) {
  OneUplinkExample example;
  const model::Iteration iteration = example.Sending(1, 4);
  for (const double top_rate : {0.0, 1e9}) {
    JobState job = StateOf(0, iteration);
    job.solo = {{4'000'000'000}, 5'000'000'000};
    job.is_phase_running = true;
    job.remaining[0] = 4e9;
    job.observed_until = AtSimSecond(2);
    DelayAccount delays;
    const std::vector<TransferRoute> routes = {{.links = {}, .top_rate = top_rate}};
    CloseAccount({.routes = routes}, job, delays);
    EXPECT_EQ(job.is_cut_off, top_rate == 0);
  }
}

// 4 GB at 1 GB/s behind 1 s of compute are 5 s. Whoever thought that it takes 9 s has to say that three iterations on
// other paths have cost the job 4 s each.
TEST(LowerYardstickTest, EarlierPathsHaveCostTheDifference) {
  OneUplinkExample example;
  const traffic::EcmpPolicy ecmp;
  HealthyFabric healthy(example.fabric, {&ecmp}, 1, {});
  const model::Iteration iteration = example.Sending(1, 4);
  JobState job = StateOf(0, iteration);
  job.paths = example.PathsOf(iteration);
  job.solo = {{8'000'000'000}, 9'000'000'000};
  job.iterations_done = 3;
  DelayAccount delays;
  LowerYardstick(healthy.yardstick(), iteration, AtSimSecond(30), job, delays);
  EXPECT_NEAR(static_cast<double>(job.solo.iteration_ns), 5e9, 10);
  EXPECT_NEAR(LostTo(delays, LossCause::kSelf), 12, 1e-6);
  LowerYardstick(healthy.yardstick(), iteration, AtSimSecond(30), job, delays);
  EXPECT_NEAR(LostTo(delays, LossCause::kSelf), 12, 1e-6) << "once";
}

}  // namespace
}  // namespace fairlead::sim
