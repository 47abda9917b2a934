#include "sim/progress_reports.h"

#include <gtest/gtest.h>

#include "sim/simulation_components_example.h"

namespace fairlead::sim {
namespace {

// A job of 10 s an iteration alone, which begins at 0 s.
class ProgressReportsTest : public testing::Test {
 protected:
  ProgressReportsTest() {
    state_ = jobs_.Start(SimTime(), {.job = JobId(0), .placement = {}, .reason = ""}, iteration_, {{}, 10'000'000'000})
                 .state.get();
  }

  static std::vector<model::Job> OneJob() {
    std::vector<model::Job> jobs(1);
    jobs[0].id = JobId(0);
    jobs[0].num_gpus = 2;
    return jobs;
  }
  void Ended(uint64_t iterations, double last_end_s) {
    state_->iterations_done = iterations;
    state_->last_iteration_end = AtSimSecond(last_end_s);
  }
  controller::JobProgressed Progress(ProgressReports& reports) {
    std::vector<controller::Event> events;
    reports.ReportProgress(jobs_, &events);
    EXPECT_EQ(events.size(), 1u);
    return std::get<controller::JobProgressed>(events.at(0));
  }
  controller::JobSpeedMeasured Speed(ProgressReports& reports, double now_s) {
    std::vector<controller::Event> events;
    reports.ReportSpeeds(AtSimSecond(now_s), jobs_, &events);
    EXPECT_EQ(events.size(), 1u);
    return std::get<controller::JobSpeedMeasured>(events.at(0));
  }

  model::Iteration iteration_ = OneUplinkExample::Computing(10);
  SimulatedJobs jobs_{OneJob(), {.random_phase = false}};
  JobState* state_ = nullptr;
};

TEST_F(ProgressReportsTest, IterationsAreTimedSinceTheLastReport) {
  ProgressReports reports{SimDuration()};
  EXPECT_EQ(reports.next_speeds(), SimTime::Never());
  reports.Begin(JobId(0), SimTime());
  Ended(2, 24);
  EXPECT_DOUBLE_EQ(Progress(reports).iteration_time.value(), 12);
  Ended(5, 84);
  controller::JobProgressed progress = Progress(reports);
  EXPECT_DOUBLE_EQ(progress.iteration_time.value(), 20);
  EXPECT_DOUBLE_EQ(progress.measured_for.value(), 60);
  EXPECT_EQ(progress.iterations_done, 5);
  EXPECT_DOUBLE_EQ(Progress(reports).iteration_time.value(), 0) << "none has ended";
}

TEST_F(ProgressReportsTest, AStretchCountsAnewAndItsJobGoesOn) {
  ProgressReports reports{SimDuration()};
  reports.Begin(JobId(0), SimTime());
  Ended(5, 84);
  Progress(reports);
  reports.Begin(JobId(0), AtSimSecond(100));
  jobs_.at(JobId(0)).past_iterations = 5;
  Ended(1, 115);
  const controller::JobProgressed progress = Progress(reports);
  EXPECT_DOUBLE_EQ(progress.iteration_time.value(), 15);
  EXPECT_EQ(progress.iterations_done, 6);
}

TEST_F(ProgressReportsTest, SpeedsAreAgainstTheTimeAlone) {
  ProgressReports reports(SimDuration(20'000'000'000));
  reports.Begin(JobId(0), SimTime());
  EXPECT_EQ(reports.next_speeds(), AtSimSecond(20));
  Ended(1, 20);  // 10 s of its time alone in 20 s
  EXPECT_DOUBLE_EQ(Speed(reports, 20).relative_speed, 0.5);
  EXPECT_EQ(reports.next_speeds(), AtSimSecond(40));
  Ended(3, 40);
  EXPECT_DOUBLE_EQ(Speed(reports, 40).relative_speed, 1);
}

// Nothing in 20 s is 20 s of starving; at half its speed alone, which is five times the least, it makes up 80 s of that
// in as long.
TEST_F(ProgressReportsTest, AJobThatStandsStillStarvesAndMakesUpForIt) {
  ProgressReports reports(SimDuration(20'000'000'000));
  reports.Begin(JobId(0), SimTime());
  EXPECT_EQ(Speed(reports, 20).starved_for, Seconds(20));
  EXPECT_EQ(Speed(reports, 40).starved_for, Seconds(40));
  Ended(1, 60);
  EXPECT_EQ(Speed(reports, 60).starved_for, Seconds(0));
}

}  // namespace
}  // namespace fairlead::sim
