#include "report/removal_effect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/report_test_data.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;

// small under ecmp: 2,400 iterations in an hour, 600 s of it blamed on big. Without big it would do 3,200.
RemovalEffect WithoutBig() {
  const sim::JobResult with = MakeSmallReport().runs[0].jobs[1];
  sim::JobResult without = with;
  without.work = without.iterations = 3200;
  without.iteration_s = without.slowdown = 1.125;
  without.lost_gpu_hours = 8 * 400.0 / 3600;
  return CompareRemoval(with, without, {{JobId(0)}, {}, {"job 0 \"big\""}});
}

TEST(RemovalEffectTest, BlameAndGain) {
  const RemovalEffect effect = WithoutBig();
  EXPECT_DOUBLE_EQ(effect.blamed_s, 600);
  EXPECT_NEAR(effect.blamed_gpu_hours, 8 * 600.0 / 3600, 1e-12);
  // 2,400 iterations at 1.125 s take 2,700 s instead of 3,600.
  EXPECT_NEAR(effect.gained_s, 900, 1e-9);
  EXPECT_NEAR(effect.gained_gpu_hours, 2, 1e-12);
  const std::string text = RenderRemoval(effect).Render();
  EXPECT_THAT(text, HasSubstr("Without job 0 \"big\"\n"));
  EXPECT_THAT(text, HasSubstr("The account blames 10 min (1.33 GPU-hours)"));
  EXPECT_THAT(text, HasSubstr("min less (2 GPU-hours)"));
  EXPECT_EQ(ToJson(effect)["gained_gpu_hours"], effect.gained_gpu_hours);
  EXPECT_EQ(ToJson(effect)["removed"][0], "job 0 \"big\"");
}

TEST(RemovalEffectTest, FailuresOfLinksAreBlamedByLink) {
  sim::JobResult job = MakeSmallReport().runs[0].jobs[1];
  job.lost_to = {{sim::LossCause::kCapacity, JobId(), LinkId(6), "a", 100, 1},
                 {sim::LossCause::kCapacity, JobId(), LinkId(7), "b", 50, 0.5},
                 {sim::LossCause::kCapacity, JobId(), LinkId(), "", 20, 0.2},
                 {sim::LossCause::kSelf, JobId(), LinkId(6), "a", 7, 0.1}};
  EXPECT_DOUBLE_EQ(CompareRemoval(job, job, {{}, {LinkId(6)}, {}}).blamed_s, 120);
  EXPECT_DOUBLE_EQ(CompareRemoval(job, job, {{JobId(0)}, {}, {}}).blamed_s, 0);
  EXPECT_DOUBLE_EQ(CompareRemoval(job, job, {{JobId(0)}, {}, {}}).gained_s, 0);
}

TEST(RemovalEffectTest, AJobThatDidNothingGainsAnUnknownAmount) {
  sim::JobResult job = MakeSmallReport().runs[0].jobs[1];
  job.work = 0;
  const RemovalEffect effect = CompareRemoval(job, job, {});
  EXPECT_TRUE(std::isnan(effect.gained_s));
  EXPECT_TRUE(ToJson(effect)["gained_s"].is_null());
  EXPECT_THAT(RenderRemoval(effect).Render(), testing::Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace fairlead::report
