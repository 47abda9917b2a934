// What is left of jobs, from their declared epochs and from jobs that ended: small runs that can be worked out by hand.
#include "sim/elastic/length_forecasts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/elastic/elastic_summary.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/measured_job.h"

namespace fairlead::sim {
namespace {

// Jobs of 4 GPUs and 0.1 s an iteration, each alone in its cluster.
class LengthForecastsTest : public ::testing::Test {
 protected:
  const ElasticJobSpec& Add(const std::string& name, const std::string& application, double num_iterations) {
    EXPECT_TRUE(AddMeasuredJob({name, application, 0, 4, {}, 64, num_iterations, {{4, 10}}}, &workload_).ok());
    return workload_.jobs.back();
  }
  ElasticJob Begin(const ElasticJobSpec& spec) const {
    ElasticJob job(spec, cluster_, {}, 0);
    job.Reallocate({{{HostId(0), 4, 0}}, std::nullopt}, 0);
    return job;
  }

  const ElasticCluster cluster_{};
  OwnedWorkload workload_;
};

// 20,000 iterations of 0.1 s; after 500 s a quarter is done, and the bar is straight: 15,000 are left.
TEST_F(LengthForecastsTest, DeclaredEpochsTellWhatIsLeftAfterOneInterval) {
  workload_.jobs.reserve(4);
  LengthForecasts forecasts(true, true);
  ElasticJob job = Begin(Add("a", "resnet", 20000));
  EXPECT_FALSE(forecasts.Remaining(job, 0.1).has_value());
  job.Advance(0, 500, 600);
  forecasts.Observe(job, 0.1);
  ASSERT_TRUE(forecasts.Remaining(job, 0.1).has_value());
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1), 15000, 150);
  // Another job of the same kind is known before it runs; one of another kind is not.
  const ElasticJob twin(Add("b", "resnet", 20000), cluster_, {}, 1);
  ASSERT_TRUE(forecasts.Remaining(twin, 0.1).has_value());
  EXPECT_NEAR(*forecasts.Remaining(twin, 0.1), 20000, 200);
  const ElasticJob other(Add("c", "vgg", 20000), cluster_, {}, 2);
  EXPECT_FALSE(forecasts.Remaining(other, 0.1).has_value());
  // Nor is one whose user declares nothing.
  ElasticJobSpec silent = workload_.jobs[0];
  silent.predictable_after.reset();
  EXPECT_FALSE(forecasts.Remaining(ElasticJob(silent, cluster_, {}, 3), 0.1).has_value());
}

// ---- Users who err ----

TEST_F(LengthForecastsTest, WhatUsersDeclareIsCorrectedByWhatJobsOfTheirKindKept) {
  workload_.jobs.reserve(16);
  LengthForecasts forecasts(true, false);
  const auto run = [&](const std::string& name, double factor, double seconds) {
    workload_.jobs[(Add(name, "resnet", 20000), workload_.jobs.size() - 1)].declared_factor = factor;
    ElasticJob job = Begin(workload_.jobs.back());
    job.Advance(0, seconds, 600);
    forecasts.Observe(job, 0.1);
    return job;
  };
  // All declare four times as much as they train for.
  EXPECT_NEAR(*forecasts.Remaining(run("first", 4, 500), 0.1), 75000, 1000) << "nobody has ended yet";
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(run(name, 4, 10000).is_finished());
  EXPECT_NEAR(*forecasts.Remaining(run("late", 4, 500), 0.1), 15000, 300);
}

TEST_F(LengthForecastsTest, AJobThatOverrunsHasSomethingLeftAndMoreTheLongerItDoes) {
  workload_.jobs.reserve(16);
  LengthForecasts forecasts(true, false);
  workload_.jobs[(Add("a", "resnet", 20000), 0)].declared_factor = 0.25;
  ElasticJob job = Begin(workload_.jobs[0]);
  double before = 0;
  for (const double seconds : {550.0, 400.0, 600.0}) {
    job.Advance(0, seconds, 600);
    forecasts.Observe(job, 0.1);
    const double left = forecasts.Remaining(job, 0.1).value();
    EXPECT_GT(left, before);
    before = left;
  }
  EXPECT_NEAR(before, 10500, 300) << "as much as it is beyond what was declared";
}

// Half of a kind declare ten times too much, half ten times too little: nobody is believed.
TEST_F(LengthForecastsTest, DeclarationsThatSayNothingAreNotUsed) {
  workload_.jobs.reserve(16);
  LengthForecasts forecasts(true, true);
  for (uint32_t i = 0; i < 8; ++i) {
    Add(std::string(1, static_cast<char>('a' + i)), "resnet", 20000);
    workload_.jobs.back().declared_factor = i % 2 == 0 ? 10 : 0.1;
    ElasticJob job = Begin(workload_.jobs.back());
    job.Advance(0, 10000, 600);
    ASSERT_TRUE(job.is_finished());
    forecasts.Observe(job, 0.1);
  }
  Add("late", "resnet", 20000);
  workload_.jobs.back().declared_factor = 10;
  ElasticJob late = Begin(workload_.jobs.back());
  late.Advance(0, 500, 600);
  EXPECT_NEAR(forecasts.Remaining(late, 0.1).value(), 15000, 1500) << "as jobs that ended have it";
}

// Two jobs of 2,000 s that ended tell about a third that declares nothing: after 500 s it has about 1,500 s left.
TEST_F(LengthForecastsTest, JobsThatEndedTellAboutTheirKind) {
  workload_.jobs.reserve(8);
  LengthForecasts forecasts(false, true);
  const auto finish = [&](const ElasticJobSpec& spec) {
    ElasticJob job = Begin(spec);
    job.Advance(0, 10000, 600);
    ASSERT_TRUE(job.is_finished());
    forecasts.Observe(job, 0.1);
  };
  ElasticJob third = Begin(Add("third", "resnet", 20000));
  third.Advance(0, 500, 600);
  forecasts.Observe(third, 0.1);
  EXPECT_FALSE(forecasts.Remaining(third, 0.1).has_value());
  for (const char* name : {"a", "b", "c"}) finish(Add(name, "resnet", 20000));
  for (const char* name : {"d", "e"}) finish(Add(name, "vgg", 500));
  ASSERT_TRUE(forecasts.Remaining(third, 0.1).has_value());
  EXPECT_NEAR(*forecasts.Remaining(third, 0.1), 15000, 1500);
  // Without a speed there is no service to compare with.
  EXPECT_FALSE(forecasts.Remaining(third, 0).has_value());
}

// ---- Loss curves beside ----

TEST_F(LengthForecastsTest, ACurveIsBelievedWhereNothingElseIsKnown) {
  workload_.jobs.reserve(4);
  const LengthForecasts forecasts(false, true);
  const ElasticJob job = Begin(Add("a", "resnet", 20000));
  EXPECT_FALSE(forecasts.Remaining(job, 0.1).has_value());
  EXPECT_EQ(forecasts.Remaining(job, 0.1, CurveForecast{7000, 0.2}), 7000);
}

TEST_F(LengthForecastsTest, ACurveAndJobsThatEndedWeighAsMuchAsTheyAreWorth) {
  workload_.jobs.reserve(8);
  LengthForecasts forecasts(false, true);
  for (const auto& [name, iterations] : {std::pair("a", 15000), std::pair("b", 25000), std::pair("c", 20000)}) {
    ElasticJob job = Begin(Add(name, "resnet", iterations));
    job.Advance(0, 10000, 600);
    ASSERT_TRUE(job.is_finished());
    forecasts.Observe(job, 0.1);
  }
  ElasticJob job = Begin(Add("d", "resnet", 20000));
  job.Advance(0, 500, 600);
  const double history = forecasts.Remaining(job, 0.1).value();
  EXPECT_GT(history, 10000);
  const auto joined = [&](double log_sigma) { return *forecasts.Remaining(job, 0.1, CurveForecast{5000, log_sigma}); };
  EXPECT_NEAR(joined(1e-3), 5000, 10);
  EXPECT_NEAR(joined(100), history, 0.01 * history);
  EXPECT_GT(joined(0.3), 5000);
  EXPECT_LT(joined(0.3), joined(0.6));
  EXPECT_LT(joined(0.6), history);
}

// 15,000 iterations are left of what is declared. The curve's 80 % interval ends at 5684, or beyond 15,000.
TEST_F(LengthForecastsTest, AJobThatConvergesBeforeItsDeclaredEpochsIsShort) {
  workload_.jobs.reserve(4);
  LengthForecasts forecasts(true, true);
  ElasticJob job = Begin(Add("a", "resnet", 20000));
  job.Advance(0, 500, 600);
  forecasts.Observe(job, 0.1);
  EXPECT_EQ(forecasts.Remaining(job, 0.1, CurveForecast{5000, 0.1}), 5000);
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1, CurveForecast{14000, 0.1}), 15000, 150);
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1, CurveForecast{50000, 0.1}), 15000, 150) << "it trains for no longer";
  // One that ends as it was declared shows that epochs are kept here, whatever the loss.
  ElasticJob kept = Begin(Add("b", "resnet", 20000));
  kept.Advance(0, 10000, 600);
  ASSERT_TRUE(kept.is_finished());
  forecasts.Observe(kept, 0.1);
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1, CurveForecast{5000, 0.1}), 15000, 150);
}

// All declare four times as much as they train for, so a quarter of it is known to be kept: as sure as can be, 0.05.
TEST_F(LengthForecastsTest, CorrectedDeclarationsAndCurvesAreJoined) {
  workload_.jobs.reserve(8);
  LengthForecasts forecasts(true, false);
  const auto run = [&](const std::string& name, double seconds) {
    workload_.jobs[(Add(name, "resnet", 20000), workload_.jobs.size() - 1)].declared_factor = 4;
    ElasticJob job = Begin(workload_.jobs.back());
    job.Advance(0, seconds, 600);
    forecasts.Observe(job, 0.1);
    return job;
  };
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(run(name, 10000).is_finished());
  const ElasticJob late = run("late", 500);
  EXPECT_NEAR(*forecasts.Remaining(late, 0.1, CurveForecast{5000, 0.05}), std::sqrt(15000.0 * 5000), 200);
}

// Nobody knows how far a job overruns that is the first to do so; its curve does.
TEST_F(LengthForecastsTest, ACurveSaysHowFarAJobOverruns) {
  workload_.jobs.reserve(4);
  LengthForecasts forecasts(true, true);
  workload_.jobs[(Add("a", "resnet", 20000), 0)].declared_factor = 0.25;
  ElasticJob job = Begin(workload_.jobs[0]);
  job.Advance(0, 1550, 600);
  forecasts.Observe(job, 0.1);
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1), 10500, 300);
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1, CurveForecast{4500, 0.1}), 4500, 100);
  EXPECT_NEAR(*forecasts.Remaining(job, 0.1, CurveForecast{20000, 0.1}), 20000, 300);
}

// On generated workloads, lengths that are declared are worth nearly as much as true ones, and no lengths at all are no
// worse than Tiresias.
TEST(LengthSourcesTest, DeclaredLengthsPay) {
  const ProfileSet profiles = GenerateProfiles(3).value();
  const auto jobs = GenerateWorkload(profiles, {.seed = 3}).value();
  const auto mean_of = [&](const char* policy, std::optional<LengthSource> lengths, bool has_loss_curves = false) {
    ElasticOptions options;
    if (lengths) options.learned = LearnedOptions{.lengths = *lengths, .has_loss_curves = has_loss_curves};
    const auto created = scheduling::CreateAllocationPolicy(policy, 1).value();
    const ElasticResult result = RunElasticSimulation(jobs, *created, options).value();
    EXPECT_TRUE(result.is_complete);
    return SummarizeRun(result, options.cluster).jct_s.mean;
  };
  const double tiresias = mean_of("tiresias", std::nullopt);
  EXPECT_LT(mean_of("aiturbo", LengthSource::kDeclared), 1.15 * mean_of("aiturbo", std::nullopt));
  const double history = mean_of("aiturbo", LengthSource::kHistory);
  EXPECT_LT(history, tiresias);
  EXPECT_LT(mean_of("aiturbo", LengthSource::kHistory, true), 1.01 * history);
}

}  // namespace
}  // namespace fairlead::sim
