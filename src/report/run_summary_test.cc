#include "report/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/policy_comparison.h"
#include "report/report_test_data.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;

TEST(SpreadTest, LeavesOutWhatIsNotFinite) {
  // {2, 4, 9}: mean 5; squares 9 + 1 + 16 = 26, over n - 1 = 2: sqrt(13).
  const Spread spread = SpreadOf(std::vector<double>{2, std::nan(""), 4, 9, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(spread.count, 3u);
  EXPECT_DOUBLE_EQ(spread.mean, 5);
  EXPECT_DOUBLE_EQ(spread.min, 2);
  EXPECT_DOUBLE_EQ(spread.max, 9);
  EXPECT_DOUBLE_EQ(spread.deviation, std::sqrt(13.0));
  EXPECT_FALSE(SpreadOf({}).known());
  EXPECT_EQ(SpreadOf(std::vector<double>{-3}).deviation, 0);
  EXPECT_EQ(SpreadOf(std::vector<double>{-3}).max, -3);
}

TEST(SummaryTest, SmallReport) {
  const std::vector<PolicySummary> summaries = SummarizePolicies(MakeSmallReport());
  ASSERT_EQ(summaries.size(), 2u);
  const PolicySummary& ecmp = summaries[0];
  EXPECT_EQ(ecmp.policy, "ecmp");
  EXPECT_EQ(ecmp.seeds, (std::vector<uint64_t>{1, 2}));
  EXPECT_DOUBLE_EQ(ecmp.busy.mean, 0.62);
  EXPECT_NEAR(ecmp.busy.deviation, 0.04 / std::sqrt(2.0), 1e-12);
  // big: 16 GPUs x 2,400 iterations x 0.5 s = 16/3 GPU-hours; small: 8/3; per hour of simulated time, so 24 x 8 a day.
  EXPECT_NEAR(ecmp.gpu_hours_lost_per_day.mean, 192, 1e-9);
  EXPECT_NEAR(ecmp.jobs[0].gpu_hours_lost_per_day.mean, 128, 1e-9);
  EXPECT_EQ(ecmp.jobs[1].yielded_s, 0);
  // Ties of the worst slowdown go to the lower id.
  EXPECT_EQ(FindWorstJob(ecmp)->id, JobId(0));

  const PolicySummary& crux = summaries[1];
  // small: 8 GPUs x 2,250 iterations x 0.6 s = 3 GPU-hours; big loses none.
  EXPECT_NEAR(crux.gpu_hours_lost_per_day.mean, 72, 1e-9);
  EXPECT_DOUBLE_EQ(crux.jobs[1].yielded_s, 720);
  EXPECT_EQ(FindWorstJob(crux)->id, JobId(1));
  ASSERT_EQ(crux.hottest_links.size(), 2u);
  EXPECT_EQ(crux.hottest_links[0].name, "leaf0->spine0");
  EXPECT_DOUBLE_EQ(crux.hottest_links[0].utilization, 0.5);
  EXPECT_EQ(FindJob(crux, JobId(2)), nullptr);
}

TEST(SummaryTest, LinkThatOneRunLacksCountsAsIdleThere) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[1].links.clear();
  EXPECT_DOUBLE_EQ(SummarizePolicies(report)[0].hottest_links[0].utilization, 0.25);
  EXPECT_DOUBLE_EQ(SummarizePolicies(report)[0].hottest_utilization.mean, 0.5);
}

TEST(ComparisonTest, SmallReport) {
  const sim::SimulationReport report = MakeSmallReport();
  const std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, SummarizePolicies(report));
  ASSERT_EQ(comparisons.size(), 1u);
  const PolicyComparison& c = comparisons[0];
  EXPECT_EQ(c.baseline.policy, "ecmp");
  EXPECT_EQ(c.num_pairs, 2u);
  // Seed 1: 0.70 - 0.60; seed 2: 0.72 - 0.64.
  EXPECT_NEAR(c.busy_gain.mean, 0.09, 1e-12);
  EXPECT_NEAR(c.busy_gain.min, 0.08, 1e-12);
  EXPECT_NEAR(*RelativeChange(c.busy_gain, c.baseline.busy), 0.09 / 0.62, 1e-12);
  EXPECT_NEAR(c.gpu_hours_won_per_day.mean, 120, 1e-9);
  EXPECT_NEAR(c.colliding_links_gain.mean, -2, 1e-12);
  EXPECT_TRUE(c.IsAhead());
  EXPECT_FALSE(c.IsBehind());
  // big wins 128 GPU-hours per day and comes first; small loses 72 - 64 = 8.
  ASSERT_EQ(c.jobs.size(), 2u);
  EXPECT_NEAR(c.jobs[0].gpu_hours_won_per_day, 128, 1e-9);
  EXPECT_TRUE(c.jobs[0].faster());
  EXPECT_NEAR(c.jobs[1].gpu_hours_won_per_day, -8, 1e-9);
  EXPECT_TRUE(c.jobs[1].slower());
  const std::vector<std::string> facts = ExplainDifference(c);
  EXPECT_THAT(facts, testing::Contains(HasSubstr("+9.0 points (+14.5 % relative)")));
  EXPECT_THAT(facts, testing::Contains(HasSubstr("1 job yielded to more important ones and waited 12 min")));
  EXPECT_THAT(facts, testing::Contains(HasSubstr("lose 8 GPU-hours per day, most of all job 1 \"small\"")));
  EXPECT_THAT(facts, testing::Contains(HasSubstr("120 GPU-hours per day are won back, 62.5 % of the 192")));
}

TEST(ComparisonTest, SwappedPoliciesSwapTheSigns) {
  const sim::SimulationReport report = MakeTestReport({.num_jobs = 12, .num_leaves = 8, .num_spines = 4});
  const std::vector<PolicySummary> summaries = SummarizePolicies(report);
  const PolicyComparison there = Compare(report, summaries[0], summaries[1]);
  const PolicyComparison back = Compare(report, summaries[1], summaries[0]);
  EXPECT_NEAR(there.busy_gain.mean, -back.busy_gain.mean, 1e-12);
  EXPECT_NEAR(there.busy_gain.min, -back.busy_gain.max, 1e-12);
  EXPECT_NEAR(there.gpu_hours_won_per_day.max, -back.gpu_hours_won_per_day.min, 1e-6);
  EXPECT_EQ(there.IsAhead(), back.IsBehind());
  // What the jobs won adds up to what the run won: the toy model computes the run's loss from the same jobs.
  double won = 0;
  for (const JobChange& job : there.jobs) won += job.gpu_hours_won_per_day;
  EXPECT_NEAR(won, there.gpu_hours_won_per_day.mean, 1e-6 * std::abs(won));
}

TEST(ComparisonTest, SeedsThatOnlyOnePolicyRanAreNotPaired) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[2].seed = 7;  // crux: 7, 2; in common: 2
  std::vector<PolicyComparison> comparisons = CompareWithBaseline(report, SummarizePolicies(report));
  EXPECT_EQ(comparisons[0].num_pairs, 1u);
  EXPECT_NEAR(comparisons[0].busy_gain.mean, 0.72 - 0.64, 1e-12);
  report.runs[3].seed = 8;  // none in common: difference of the means 0.71 - 0.62
  comparisons = CompareWithBaseline(report, SummarizePolicies(report));
  EXPECT_EQ(comparisons[0].num_pairs, 0u);
  EXPECT_NEAR(comparisons[0].busy_gain.mean, 0.09, 1e-12);
  EXPECT_THAT(ExplainDifference(comparisons[0])[0], HasSubstr("no seed was run under both"));
}

TEST(ComparisonTest, GainWithinItsSpreadIsNoDifference) {
  sim::SimulationReport report = MakeSmallReport();
  // Gains +0.10 and -0.06: mean 0.02, deviation 0.16 / sqrt(2) = 0.113.
  report.runs[3].busy = 0.58;
  const PolicyComparison c = CompareWithBaseline(report, SummarizePolicies(report))[0];
  EXPECT_FALSE(c.IsAhead());
  EXPECT_FALSE(c.IsBehind());
  EXPECT_EQ(Headline(c), "crux and ecmp: no clear difference");
}

TEST(ComparisonTest, EcmpIsTheBaselineWhereverItStands) {
  sim::SimulationReport report = MakeSmallReport();
  std::rotate(report.runs.begin(), report.runs.begin() + 2, report.runs.end());
  EXPECT_EQ(CompareWithBaseline(report, SummarizePolicies(report))[0].baseline.policy, "ecmp");
  for (sim::RunResult& run : report.runs) run.policy = run.policy == "ecmp" ? "varys" : run.policy;
  EXPECT_EQ(CompareWithBaseline(report, SummarizePolicies(report))[0].baseline.policy, "crux");
  report.runs.resize(2);
  EXPECT_TRUE(CompareWithBaseline(report, SummarizePolicies(report)).empty());
}

}  // namespace
}  // namespace fairlead::report
