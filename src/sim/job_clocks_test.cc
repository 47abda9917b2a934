#include "sim/job_clocks.h"

#include <gtest/gtest.h>

#include <optional>

#include "sim/domain_test_data.h"

namespace fairlead::sim {
namespace {

// One job of 1,000 ns of compute with one phase that may start after 300.
class JobClocksTest : public testing::Test {
 protected:
  void Begin(bool blocks_compute) {
    link_.Add(0.3, 1e-6, 100, 0, blocks_compute);
    network_.emplace(link_.Layout(), std::vector<uint32_t>{0}, nullptr);
    recorder_.emplace(link_.jobs, link_.time, &*network_, link_.Routes(), nullptr);
    clocks_.emplace(link_.jobs, link_.time, &busy_, &*recorder_);
    clocks_->Begin(0);
  }
  void MoveTo(int64_t local_ns) {
    link_.time.local_ns = local_ns;
    clocks_->Sync(0);
  }
  JobState& job() { return *link_.jobs[0]; }

  OneLink link_{100};
  BinnedSum busy_{SimTime(10'000), 10};
  std::optional<DomainNetwork> network_;
  std::optional<DomainRecorder> recorder_;
  std::optional<JobClocks> clocks_;
};

TEST_F(JobClocksTest, ABlockingPhaseStopsTheClock) {
  Begin(true);
  clocks_->SetTimer(0);
  EXPECT_EQ(clocks_->NextTimerNs(), 300);
  EXPECT_TRUE(clocks_->is_computing(0));
  MoveTo(300);
  EXPECT_TRUE(clocks_->IsDue(0));
  EXPECT_EQ(job().progress_ns, 300);
  job().is_phase_running = true;
  clocks_->SetTimer(0);
  EXPECT_FALSE(clocks_->is_computing(0));
  EXPECT_EQ(clocks_->NextTimerNs(), kNeverNs);
  MoveTo(500);
  EXPECT_EQ(job().progress_ns, 300) << "it stands";
  job().is_phase_running = false;
  job().phase = 1;
  clocks_->SetTimer(0);
  EXPECT_EQ(clocks_->NextTimerNs(), 1200) << "700 of compute are left";
}

TEST_F(JobClocksTest, AnotherPhaseLetsItRunToTheEnd) {
  Begin(false);
  clocks_->SetTimer(0);
  EXPECT_EQ(clocks_->NextTimerNs(), 300);
  MoveTo(300);
  job().is_phase_running = true;
  clocks_->SetTimer(0);
  EXPECT_EQ(clocks_->NextTimerNs(), 1000);
  MoveTo(1000);
  EXPECT_EQ(job().progress_ns, 1000);
  clocks_->SetTimer(0);
  EXPECT_EQ(clocks_->NextTimerNs(), kNeverNs) << "the phase still runs";
}

TEST_F(JobClocksTest, ComputeOfAllGpusIsBusyTimeInItsBins) {
  Begin(false);
  job().num_gpus = 4;
  job().clock.busy_fraction = 0.5;
  link_.time.offset_ns = 1900;
  clocks_->SetTimer(0);
  MoveTo(300);
  // From 1,900 to 2,200 ns of simulated time, four GPUs half of the time.
  EXPECT_DOUBLE_EQ(busy_.bins()[1], 200e-9);
  EXPECT_DOUBLE_EQ(busy_.bins()[2], 400e-9);
}

TEST_F(JobClocksTest, AJobThatHasNotBegunIsDueAtItsStart) {
  link_.Add(0.3, 1e-6, 100);
  job().iteration_start = SimTime(70);
  link_.time.offset_ns = 20;
  network_.emplace(link_.Layout(), std::vector<uint32_t>{0}, nullptr);
  recorder_.emplace(link_.jobs, link_.time, &*network_, link_.Routes(), nullptr);
  clocks_.emplace(link_.jobs, link_.time, &busy_, &*recorder_);
  EXPECT_FALSE(clocks_->has_begun(0));
  EXPECT_EQ(clocks_->NextTimerNs(), 50);
  EXPECT_FALSE(clocks_->IsDue(0));
}

TEST_F(JobClocksTest, AJobWaitsOnceForItsShift) {
  Begin(false);
  EXPECT_FALSE(clocks_->WaitForShift(0)) << "it has none";
  job().time_shift = traffic::TimeShift{.period = SimDuration(1000), .offset = SimDuration(400), .tolerance = {}};
  MoveTo(150);
  ASSERT_TRUE(clocks_->WaitForShift(0));
  EXPECT_FALSE(clocks_->has_begun(0));
  EXPECT_EQ(clocks_->NextTimerNs(), 400);
  EXPECT_EQ(job().iteration_start, SimTime(400));
  job().time_shift->offset = SimDuration(700);
  MoveTo(400);
  EXPECT_FALSE(clocks_->WaitForShift(0)) << "whatever has changed meanwhile";
  EXPECT_TRUE(job().shift_progress.is_aligned);
}

TEST_F(JobClocksTest, AJumpCountsWhatItSkipsAndLeavesTheClock) {
  Begin(false);
  clocks_->SetTimer(0);
  link_.time.local_ns = 100;
  clocks_->Jump(0,
                {.iterations = 3, .phase_runs = std::vector<uint64_t>{3}, .skipped = SimDuration(4000), .error_ns = 8});
  EXPECT_EQ(job().progress_ns, 100) << "brought up to now";
  EXPECT_EQ(job().iterations_done, 3u);
  EXPECT_EQ(job().phase_runs[0], 3u);
  EXPECT_EQ(job().jumped_ns, 4000);
  EXPECT_DOUBLE_EQ(job().jump_error, 8.0 / 4000);
  EXPECT_EQ(clocks_->NextTimerNs(), 300) << "local time does not jump";
  double busy_s = 0;
  for (const double bin : busy_.bins()) busy_s += bin;
  EXPECT_NEAR(busy_s, 3100e-9, 1e-15);
}

}  // namespace
}  // namespace fairlead::sim
