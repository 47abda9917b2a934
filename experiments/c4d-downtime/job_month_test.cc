#include "experiments/c4d-downtime/job_month.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fairlead::experiments::c4d_downtime {
namespace {

MonthSetting Setting() {
  MonthSetting setting;
  setting.faults_per_month = {10, 30};
  setting.times = [](Cause cause, Random&) { return FaultTimes{20, cause == Cause::kGpu ? 100.0 : 200.0}; };
  return setting;
}

MonthLoss Mean(const MonthSetting& setting) {
  MonthLoss mean;
  constexpr int kMonths = 500;
  for (int m = 0; m < kMonths; ++m) {
    Random random(static_cast<uint64_t>(m));
    const MonthLoss month = SimulateMonth(setting, random);
    EXPECT_NEAR(month.total() + month.useful, 1, 1e-12);
    mean.lost_work += month.lost_work / kMonths;
    mean.detection += month.detection / kMonths;
    mean.isolation[0] += month.isolation[0] / kMonths;
    mean.isolation[1] += month.isolation[1] / kMonths;
    mean.initialization += month.initialization / kMonths;
    mean.useful += month.useful / kMonths;
  }
  return mean;
}

TEST(JobMonthTest, WithoutFaultsNothingIsLost) {
  MonthSetting setting = Setting();
  setting.faults_per_month = {0, 0};
  Random random(1);
  const MonthLoss loss = SimulateMonth(setting, random);
  EXPECT_EQ(loss.total(), 0);
  EXPECT_EQ(loss.useful, 1);
  EXPECT_EQ(loss.num_faults, 0u);
}

// The closed form of docs/spec/c4.md section 8: faults while running, half an interval of work each. Running time is
// what is not lost to faults' times; the work that is computed again counts as running.
TEST(JobMonthTest, MeansFollowTheClosedForm) {
  const MonthSetting setting = Setting();
  const MonthLoss mean = Mean(setting);
  const double per_fault = 20 + (10 * 100.0 + 30 * 200.0) / 40 + 195;
  const double rate = 40 / setting.month_s;
  const double running = 1 / (1 + rate * per_fault);
  const double faults = 40 * running / setting.month_s;  // per second of the month
  EXPECT_NEAR(mean.detection, faults * 20, 0.02 * faults * 20);
  EXPECT_NEAR(mean.isolation[0], faults / 4 * 100, 0.05 * faults / 4 * 100);
  EXPECT_NEAR(mean.isolation[1], faults * 3 / 4 * 200, 0.05 * faults * 3 / 4 * 200);
  EXPECT_NEAR(mean.initialization, faults * 195, 0.02 * faults * 195);
  // Faults come every 18 hours, so that their place in an interval of ten minutes is nearly uniform.
  EXPECT_NEAR(mean.lost_work, faults * 300, 0.03 * faults * 300);
}

TEST(JobMonthTest, TimesThatNeverEndTakeTheRestOfTheMonth) {
  MonthSetting setting = Setting();
  setting.times = [&](Cause, Random&) { return FaultTimes{10 * setting.month_s, 1}; };
  Random random(3);
  const MonthLoss loss = SimulateMonth(setting, random);
  EXPECT_EQ(loss.num_faults, 1u);
  EXPECT_NEAR(loss.total() + loss.useful, 1, 1e-12);
  EXPECT_EQ(loss.isolation_sum(), 0);
}

}  // namespace
}  // namespace fairlead::experiments::c4d_downtime
