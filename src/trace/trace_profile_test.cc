#include "trace/trace_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "trace/embedded_trace_profiles.h"
#include "trace/run_time_draw.h"
#include "trace/scenario_export.h"

namespace fairlead::trace {
namespace {

using ::testing::HasSubstr;

TEST(RunTimeLawTest, MeetsItsQuantilesAndIsLogLinearBetween) {
  const RunTimeLaw law = RunTimeLaw::Create({0, 0.5, 1}, {1, 100, 10'000}).value();
  EXPECT_DOUBLE_EQ(law.Quantile(0), 1);
  EXPECT_DOUBLE_EQ(law.Quantile(0.5), 100);
  EXPECT_DOUBLE_EQ(law.Quantile(1), 10'000);
  EXPECT_NEAR(law.Quantile(0.25), 10, 1e-9) << "half way in the logarithm";
  EXPECT_NEAR(law.Cdf(1000), 0.75, 1e-12);
  EXPECT_EQ(law.Cdf(0.5), 0);
  EXPECT_EQ(law.Cdf(20'000), 1);
}

TEST(RunTimeLawTest, CdfIsTheInverseAlsoOfAScaledTail) {
  const RunTimeLaw base = RunTimeLaw::Create({0, 0.9, 0.99, 1}, {1, 10, 100, 1000}).value();
  const RunTimeLaw scaled = base.ScaleTail(0.9, 0.5);
  // Beyond 10: 10 + (100 - 10) / 2.
  EXPECT_DOUBLE_EQ(scaled.Quantile(0.99), 55);
  EXPECT_DOUBLE_EQ(scaled.Quantile(0.5), base.Quantile(0.5));
  for (int i = 0; i < 1000; ++i) {
    const double p = (i + 0.5) / 1000;
    EXPECT_NEAR(base.Cdf(base.Quantile(p)), p, 1e-12);
    EXPECT_NEAR(scaled.Cdf(scaled.Quantile(p)), p, 1e-12);
  }
}

TEST(RunTimeLawTest, RefusesWhatIsNoLaw) {
  EXPECT_FALSE(RunTimeLaw::Create({0, 1}, {1}).ok());
  EXPECT_FALSE(RunTimeLaw::Create({0, 0.5}, {1, 2}).ok());
  EXPECT_FALSE(RunTimeLaw::Create({0, 0.5, 0.5, 1}, {1, 2, 3, 4}).ok());
  EXPECT_FALSE(RunTimeLaw::Create({0, 1}, {2, 1}).ok());
  EXPECT_FALSE(RunTimeLaw::Create({0, 1}, {0, 1}).ok());
}

// Ranks that rise with size for 1, fall for -1, and are independent of it for 0 (Spearman's rho of 2,000 pairs:
// standard deviation 0.022).
TEST(RunTimeDrawTest, RankCorrelationIsWhatWasAskedFor) {
  const RunTimeLaw law = RunTimeLaw::Create({0, 1}, {1, 100}).value();
  std::vector<uint32_t> gpus(2000);
  for (size_t i = 0; i < gpus.size(); ++i) gpus[i] = static_cast<uint32_t>(i);
  const auto spearman = [&](double rho) {
    Random random(1);
    const std::vector<double> minutes = DrawGpuRunTimes(gpus, law, rho, &random);
    double sum = 0;
    for (size_t i = 0; i < gpus.size(); ++i) {
      const double d = law.Cdf(minutes[i]) - (static_cast<double>(i) + 0.5) / static_cast<double>(gpus.size());
      sum += d * d;
    }
    return 1 - 6 * sum / static_cast<double>(gpus.size());
  };
  EXPECT_NEAR(spearman(1), 1, 1e-3);
  EXPECT_NEAR(spearman(-1), -1, 1e-3);
  EXPECT_NEAR(spearman(0), 0, 0.09);
  // A Gaussian copula of correlation r has Spearman's rho 6/pi * asin(r/2): 0.483 for 0.5.
  EXPECT_NEAR(spearman(0.5), 0.483, 0.07);
}

TEST(RunTimeDrawTest, OtherJobsFillUpThePublishedLaw) {
  // Half of 1000 jobs have GPUs and run between 1 and 10; all jobs: half below 10, half above.
  const RunTimeLaw all = RunTimeLaw::Create({0, 0.5, 1}, {1, 10, 100}).value();
  Random random(1);
  const std::vector<double> others = DrawOtherRunTimes(std::vector<double>(500, 5.0), all, 500, &random);
  ASSERT_EQ(others.size(), 500u);
  for (const double minutes : others) EXPECT_GE(minutes, 10);
  EXPECT_EQ(*std::max_element(others.begin(), others.end()), 100);
  EXPECT_TRUE(DrawOtherRunTimes({}, all, 0, &random).empty());
}

TEST(TraceProfileTest, TheBuiltInProfileIsThePublishedTable) {
  const auto profile = BuiltInTraceProfile("lingjun-2023");
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  EXPECT_EQ(profile->num_days(), 16u);
  double jobs = 0, labels = 0;
  for (const double count : profile->arrivals_per_day) jobs += count;
  for (const ModelCount& model : profile->models) labels += model.jobs;
  // The reconstructed days miss the 5,180 rows by one.
  EXPECT_NEAR(jobs, 5180, 1);
  EXPECT_EQ(labels, 5180);
  EXPECT_NEAR(profile->gpus_per_job.Cdf(8), 0.509, 0.001) << "P(<= 8) of the reference";
  EXPECT_EQ(profile->gpus_per_job.Quantile(1), 688u);
  EXPECT_THAT(BuiltInTraceProfile("x").status().message(), HasSubstr("known: lingjun-2023"));
}

TEST(TraceProfileTest, MessagesNameLineAndKey) {
  std::string good(EmbeddedTraceProfiles().front().text);
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return ParseTraceProfile(text, "p.yaml").status().message();
  };
  EXPECT_THAT(message("jobs: 5180", "jobs: -1"), HasSubstr("jobs: expected a number in [1,"));
  EXPECT_THAT(message("gpu_jobs: 2783", "gpu_jobs: 9999"), HasSubstr("gpu_jobs: expected at most `jobs`"));
  EXPECT_THAT(message("arrivals_per_day: [82,", "arrivals_per_day: [x,"),
              HasSubstr("arrivals_per_day: expected numbers"));
  EXPECT_THAT(message("arrival_hour_weights: [3,", "arrival_hour_weights: ["), HasSubstr("expected 24 numbers"));
  EXPECT_THAT(message("probabilities: [0, 0.25,", "probabilities: [0, 0.75,"), HasSubstr("ascending order"));
  EXPECT_THAT(message("counts: [219,", "counts: ["),
              HasSubstr("gpus_per_job.counts: expected as many numbers as gpus has"));
  EXPECT_THAT(message("tail_scale: 0.335", "tail_scale: 0"), HasSubstr("tail_scale: expected a number in (0, 10]"));
  EXPECT_THAT(message("name: lingjun-2023", "nam: x"), HasSubstr("'name' is missing"));
  EXPECT_THAT(message("{name: \"cognitive\"", "{name: \"unknown\""), HasSubstr("the model 'unknown' appears twice"));
}

TEST(ScenarioExportTest, TakesTheJobsThatAreThereWithTheTimeTheyHaveLeft) {
  const TraceProfile profile = BuiltInTraceProfile("lingjun-2023").value();
  Trace trace;
  trace.title = "t \"quoted\"";
  const auto add = [&](const char* id, double submit_s, double duration_s, uint32_t gpus) {
    trace.jobs.push_back({.id = id,
                          .submit_s = submit_s,
                          .duration_s = duration_s,
                          .gpus = gpus,
                          .gpus_per_host = std::min(gpus, 8u),
                          .model = "llama"});
  };
  add("over", 0, 50, 8);    // ends before the stretch
  add("left", 10, 150, 8);  // from 10 to 160: 60 s are left at 100
  add("cpu", 120, 10, 0);
  add("inside", 130, 1000, 16);
  add("later", 200, 10, 8);
  const auto result = ExportScenario(trace, profile, {.from_s = 100, .to_s = 200});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->num_jobs_without_gpus, 1u);
  ASSERT_EQ(result->jobs.size(), 2u);
  EXPECT_EQ(result->jobs[0].id, "left");
  EXPECT_EQ(result->jobs[0].submit_s, 0);
  EXPECT_EQ(result->jobs[0].duration_s, 60);
  EXPECT_EQ(result->jobs[1].submit_s, 30);
  EXPECT_EQ(result->jobs[1].duration_s, 1000);
  EXPECT_THAT(result->yaml, HasSubstr("title: \"t \\\"quoted\\\": seconds 100 to 200\""));
  EXPECT_THAT(result->yaml, HasSubstr("window: {from_s: 0, to_s: 100}"));
  EXPECT_THAT(result->yaml, HasSubstr("{label: \"llama\", model: \"llama-7b\"}"));
  EXPECT_THAT(ExportScenario(trace, profile, {.from_s = 5000, .to_s = 6000}).status().message(),
              HasSubstr("no GPU job is there between 5000 and 6000 s"));
  EXPECT_FALSE(ExportScenario(trace, profile, {.from_s = 5, .to_s = 5}).ok());
}

}  // namespace
}  // namespace fairlead::trace
