// What a run says about its policy: numbers that can be worked out by hand.
#include "sim/elastic/elastic_summary.h"

#include <gtest/gtest.h>

namespace fairlead::sim {
namespace {

ElasticJobResult Job(double submission_s, double start_s, double end_s, uint32_t gpus, double alone_s) {
  ElasticJobResult job;
  job.name = "j";
  job.submission_s = submission_s;
  job.first_start_s = start_s;
  job.completion_s = end_s;
  job.requested_gpus = gpus;
  job.alone_s = alone_s;
  return job;
}

ElasticResult WithJobs(std::vector<ElasticJobResult> jobs, uint32_t num_at_once, double until_s) {
  ElasticResult result;
  result.jobs = std::move(jobs);
  for (double begin_s = 0; begin_s <= until_s; begin_s += 60)
    result.intervals.push_back({begin_s, 0, 0, {}, num_at_once});
  return result;
}

TEST(ElasticSummaryTest, SpreadsAreNearestRanks) {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  const Spread spread = SpreadOf(values);
  EXPECT_EQ(spread.count, 100u);
  EXPECT_EQ(spread.mean, 50.5);
  EXPECT_EQ(spread.p50, 50);
  EXPECT_EQ(spread.p95, 95);
  EXPECT_EQ(spread.p99, 99);
  EXPECT_EQ(spread.max, 100);
  EXPECT_EQ(SpreadOf({}).count, 0u);
}

// 64 GPUs, 16 jobs at once: a share of 4. A job of 8 GPUs that takes 1000 s alone has 2000 s; in 3000 s rho is 1.5.
TEST(ElasticSummaryTest, FinishTimeFairness) {
  const ElasticCluster cluster{{{16, 4}}, 0, 0};
  const ElasticResult crowded = WithJobs({Job(0, 0, 3000, 8, 1000)}, 16, 6000);
  EXPECT_NEAR(FinishTimeUnfairness(crowded, cluster)[0], 1.5, 1e-9);
  EXPECT_EQ(SummarizeRun(crowded, cluster).unfair_share, 1);
  // A job within its share has all of its time alone, not less.
  const ElasticResult small = WithJobs({Job(60, 60, 1060, 2, 1000)}, 16, 6000);
  EXPECT_NEAR(FinishTimeUnfairness(small, cluster)[0], 1, 1e-9);
  EXPECT_EQ(SummarizeRun(small, cluster).unfair_share, 0);
}

TEST(ElasticSummaryTest, JobsThatDidNotEndAreNamedAndLeftOutOfCompletion) {
  ElasticJobResult open = Job(0, 120, 0, 1, 100);
  open.name = "endless";
  open.completion_s.reset();
  const ElasticSummary summary = SummarizeRun(WithJobs({Job(0, 60, 600, 1, 500), open}, 2, 600), {});
  EXPECT_EQ(summary.unfinished, std::vector<std::string>{"endless"});
  EXPECT_EQ(summary.jct_s.count, 1u);
  EXPECT_EQ(summary.jct_s.mean, 600);
  EXPECT_EQ(summary.first_wait_s.max, 120);
}

TEST(ElasticSummaryTest, ClassesOfSizes) {
  for (const auto& [gpus, c] : {std::pair(1u, 0u), std::pair(2u, 1u), std::pair(4u, 1u), std::pair(5u, 2u),
                                std::pair(8u, 2u), std::pair(9u, 3u), std::pair(32u, 3u), std::pair(33u, 4u)}) {
    EXPECT_EQ(SizeClassOf(gpus), c) << gpus;
  }
}

}  // namespace
}  // namespace fairlead::sim
