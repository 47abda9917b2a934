#include "trace/trace_generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "trace/concurrency.h"
#include "trace/goodness_of_fit.h"
#include "trace/neutral_trace.h"

namespace fairlead::trace {
namespace {

using ::testing::HasSubstr;

const TraceProfile& Lingjun() {
  static const TraceProfile kProfile = BuiltInTraceProfile("lingjun-2023").value();
  return kProfile;
}

Trace Generate(const GeneratorOptions& options) { return GenerateTrace(Lingjun(), options).value(); }

GeneratorOptions WithSeed(uint64_t seed) {
  GeneratorOptions options = Lingjun().generator;
  options.seed = seed;
  return options;
}

// The acceptance of the data set's reference: quantiles within 5 %, daily arrivals within 15 %, concurrency within 10 %
// in the mean and 30 % in the maximum, for each of ten seeds.
class AcceptanceTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(AcceptanceTest, EveryMarginalIsInsideItsBand) {
  const GoodnessOfFit fit = MeasureFit(Generate(WithSeed(GetParam())), Lingjun()).value();
  for (const FitRow& row : fit.rows) {
    EXPECT_TRUE(row.is_judged) << row.marginal << " " << row.quantity;
    EXPECT_LE(row.distance, row.band) << row.marginal << " " << row.quantity << " " << row.unit << ": published "
                                      << row.published << ", ours " << row.ours;
  }
  // 17 rows of arrivals and the share of GPU jobs, hours, 7 quantiles and the law of run times, 7 and the law of sizes,
  // labels, 4 of concurrency.
  EXPECT_EQ(fit.rows.size(), 18u + 1 + 8 + 8 + 1 + 4);
}

INSTANTIATE_TEST_SUITE_P(TenSeeds, AcceptanceTest, ::testing::Range<uint64_t>(1, 11));

TEST(TraceGeneratorTest, SameSeedSameBytesOtherSeedOtherTrace) {
  const std::string once = RenderNeutralTrace(Generate(WithSeed(7)).jobs).value();
  EXPECT_EQ(once, RenderNeutralTrace(Generate(WithSeed(7)).jobs).value());
  EXPECT_NE(once, RenderNeutralTrace(Generate(WithSeed(8)).jobs).value());
}

TEST(TraceGeneratorTest, LabelledModelsKeepTheirPublishedSizes) {
  const Trace trace = Generate(WithSeed(3));
  for (const ModelCount& model : Lingjun().models) {
    if (model.sizes.gpus.empty()) continue;
    for (const TraceJob& job : trace.jobs) {
      if (job.model != model.name) continue;
      EXPECT_TRUE(std::binary_search(model.sizes.gpus.begin(), model.sizes.gpus.end(), job.gpus))
          << job.model << " with " << job.gpus << " GPUs";
    }
  }
}

TEST(TraceGeneratorTest, SharesOfHostsFollowTheRecipe) {
  // Up to 8 GPUs on one host; more on hosts of 8, the last one with the rest.
  for (const TraceJob& job : Generate(WithSeed(2)).jobs) EXPECT_EQ(job.gpus_per_host, std::min(job.gpus, 8u));
  GeneratorOptions options = WithSeed(2);
  options.fragmentation = 1;
  for (const TraceJob& job : Generate(options).jobs) {
    EXPECT_EQ(job.gpus_per_host, job.gpus > 8 ? 4 : job.gpus);
  }
}

TEST(TraceGeneratorTest, OptionsMoveTheTraceAsTheySay) {
  // One draw each: what rejection would undo must show.
  GeneratorOptions options = WithSeed(5);
  options.draws_max = 1;
  options.jobs_limit = options.gpus_limit = 0;
  const auto measure = [](const GeneratorOptions& o) {
    return MeasureConcurrency(Generate(o).jobs, 16 * kSecondsPerDay);
  };
  const Concurrency base = measure(options);
  GeneratorOptions longer = options;
  longer.tail_scale = 1;
  EXPECT_GT(measure(longer).jobs_mean, 1.2 * base.jobs_mean);
  GeneratorOptions correlated = options;
  correlated.rank_correlation = 0.6;
  EXPECT_GT(measure(correlated).gpus_mean, 1.5 * base.gpus_mean);
  EXPECT_NEAR(measure(correlated).jobs_mean, base.jobs_mean, 0.1 * base.jobs_mean);
  GeneratorOptions limited = options;
  limited.gpus_limit = 1534;
  // A job that fits nowhere (512 GPUs for long) may exceed the limit, but not by half.
  EXPECT_GT(base.gpus_max, 2000u);
  EXPECT_LT(measure(limited).gpus_max, 1994u);
  GeneratorOptions busy = options;
  busy.load = 2;
  EXPECT_NEAR(static_cast<double>(Generate(busy).jobs.size()), 2.0 * static_cast<double>(Generate(options).jobs.size()),
              16);
}

TEST(TraceGeneratorTest, GpuJobsOnlyLeavesTheGpuJobsAsTheyAre) {
  std::vector<TraceJob> all = Generate(WithSeed(4)).jobs;
  GeneratorOptions options = WithSeed(4);
  options.gpu_jobs_only = true;
  std::erase_if(all, [](const TraceJob& job) { return job.gpus == 0; });
  EXPECT_TRUE(Generate(options).jobs == all);
}

TEST(TraceGeneratorTest, LongTracesRepeatFullWeeks) {
  // 16 days begin on a Saturday; day 16 is the Monday after, and takes the numbers of day 2, the first Monday.
  GeneratorOptions options = WithSeed(1);
  options.days = 31;
  std::vector<double> per_day(31);
  for (const TraceJob& job : Generate(options).jobs) ++per_day[static_cast<size_t>(job.submit_s / kSecondsPerDay)];
  for (size_t day = 0; day < 31; ++day) {
    const size_t source = day < 16 ? day : 2 + (day - 16) % 14;
    EXPECT_EQ(per_day[day], Lingjun().arrivals_per_day[source]) << day;
  }
}

TEST(TraceGeneratorTest, RefusesWhatItCannotDo) {
  GeneratorOptions options = WithSeed(1);
  options.rank_correlation = 1.5;
  EXPECT_THAT(GenerateTrace(Lingjun(), options).status().message(),
              HasSubstr("rank_correlation: expected a number in [-1, 1], found 1.5"));
  options = WithSeed(1);
  options.days = 3650;
  options.load = 1000;
  EXPECT_EQ(GenerateTrace(Lingjun(), options).status().code(), StatusCode::kResourceExhausted);
}

TEST(TraceGeneratorProperty, EveryTraceIsValidSortedAndOfTheRightLength) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    const auto any = [&random](std::initializer_list<double> values) {
      return values.begin()[random.Below(values.size())];
    };
    GeneratorOptions options = WithSeed(seed);
    options.days = static_cast<uint32_t>(1 + random.Below(4));
    options.load = any({0.001, 0.1, 1});
    options.burst_fraction = any({0, 0.5, 1});
    options.burst_mean = any({1, 4, 1000});
    options.tail_scale = any({0.01, 1, 10});
    options.rank_correlation = any({-1, 0, 1});
    options.gpus_limit = any({0, 1, 1534});
    options.draws_max = static_cast<uint32_t>(any({1, 3}));
    const Trace trace = Generate(options);
    std::set<std::string> ids;
    for (const TraceJob& job : trace.jobs) {
      EXPECT_TRUE(ValidateJob(job).ok()) << "seed " << seed;
      EXPECT_LT(job.submit_s, options.days * kSecondsPerDay) << "seed " << seed;
      EXPECT_GE(job.duration_s, 30) << "seed " << seed << ": half a minute is the least run time";
      EXPECT_TRUE(ids.insert(job.id).second) << "seed " << seed;
    }
    std::vector<TraceJob> sorted = trace.jobs;
    SortJobs(&sorted);
    EXPECT_TRUE(sorted == trace.jobs) << "seed " << seed;
  }
}

}  // namespace
}  // namespace fairlead::trace
