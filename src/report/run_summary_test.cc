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
  // Student's t of two degrees is 4.303: 4.303 x sqrt(13 / 3).
  EXPECT_NEAR(spread.margin, 8.957, 1e-3);
  EXPECT_FALSE(SpreadOf(std::vector<double>{-3}).has_interval());
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

TEST(SummaryTest, P99NeedsEveryRunToHaveIt) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_FALSE(SummarizePolicies(report)[0].p99_slowdown.known());
  report.runs[0].p99_slowdown = 3;
  EXPECT_FALSE(SummarizePolicies(report)[0].p99_slowdown.known());
  report.runs[1].p99_slowdown = 5;
  EXPECT_DOUBLE_EQ(SummarizePolicies(report)[0].p99_slowdown.mean, 4);
}

TEST(SummaryTest, LinkThatOneRunLacksCountsAsIdleThere) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[1].links.clear();
  EXPECT_DOUBLE_EQ(SummarizePolicies(report)[0].hottest_links[0].utilization, 0.25);
  EXPECT_DOUBLE_EQ(SummarizePolicies(report)[0].hottest_utilization.mean, 0.5);
}

std::vector<PolicyComparison> CompareAll(const sim::SimulationReport& report) {
  return CompareWithBaseline(report, SummarizePolicies(report));
}

TEST(ComparisonTest, SmallReport) {
  const std::vector<PolicyComparison> comparisons = CompareAll(MakeSmallReport());
  ASSERT_EQ(comparisons.size(), 1u);
  const PolicyComparison& c = comparisons[0];
  EXPECT_EQ(c.baseline, "ecmp");
  EXPECT_EQ(c.num_pairs, 2u);
  // Draw 0: 0.70 - 0.60; draw 1: 0.72 - 0.64. Deviation 0.02 / sqrt(2); with one degree t is 12.706:
  // margin 12.706 x 0.01 = 0.127, so that 0 is inside.
  const GoalChange& busy = c.Of(Goal::kBusy);
  EXPECT_NEAR(busy.difference.mean, 0.09, 1e-12);
  EXPECT_NEAR(busy.difference.margin, 0.12706, 1e-5);
  EXPECT_EQ(busy.verdict, Verdict::kNoDifference);
  // Slowdowns and GPU-hours are the same in both draws: the mean falls by 0.2, the worst rises by 0.1, and of 8
  // GPU-hours 5 are won.
  EXPECT_NEAR(c.Of(Goal::kMeanSlowdown).difference.mean, -0.2, 1e-12);
  EXPECT_EQ(c.Of(Goal::kMeanSlowdown).verdict, Verdict::kBetter);
  EXPECT_NEAR(c.Of(Goal::kWorstSlowdown).difference.mean, 0.1, 1e-12);
  EXPECT_EQ(c.Of(Goal::kWorstSlowdown).verdict, Verdict::kWorse);
  EXPECT_EQ(c.Of(Goal::kStalledJobs).verdict, Verdict::kNoDifference);
  EXPECT_NEAR(c.Of(Goal::kGpuHoursLost).difference.mean, -5, 1e-9);
  EXPECT_EQ(c.Of(Goal::kGpuHoursLost).verdict, Verdict::kBetter);
  EXPECT_NEAR(c.gpu_hours_won_per_day.mean, 120, 1e-9);
  EXPECT_NEAR(c.colliding_links_gain.mean, -2, 1e-12);
  // big wins 128 GPU-hours per day and comes first; small loses 72 - 64 = 8.
  ASSERT_EQ(c.jobs.size(), 2u);
  EXPECT_NEAR(c.jobs[0].gpu_hours_won_per_day, 128, 1e-9);
  EXPECT_TRUE(c.jobs[0].faster());
  EXPECT_NEAR(c.jobs[1].gpu_hours_won_per_day, -8, 1e-9);
  EXPECT_TRUE(c.jobs[1].slower());
  const std::vector<std::string> facts = ExplainDifference(c);
  EXPECT_THAT(facts, testing::Contains(HasSubstr("1 job yielded to more important ones and lost 12 min")));
  EXPECT_THAT(facts, testing::Contains(HasSubstr("lose 8 GPU-hours per day, most of all job 1 \"small\"")));
  EXPECT_EQ(SummarizeTrade(c),
            "crux against ecmp: -0.20 mean slowdown (-0.20 to -0.20), worst job 1.07x slower, "
            "-5 GPU-hours lost (-5 to -5); busy, FLOP-weighted: no difference");
}

TEST(ComparisonTest, AWinIsVisibleAndOutsideItsInterval) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[3].busy = 0.7405;  // gains 0.10 and 0.1005: margin 12.706 x 0.00025 = 0.0032
  PolicyComparison c = CompareAll(report)[0];
  EXPECT_EQ(c.Of(Goal::kBusy).verdict, Verdict::kBetter);
  EXPECT_THAT(SummarizeTrade(c), HasSubstr(": +10.0 points busy (+9.7 to +10.3)"));
  report.runs[2].busy = 0.6 - 0.1;
  report.runs[3].busy = 0.64 - 0.1;
  EXPECT_EQ(CompareAll(report)[0].Of(Goal::kBusy).verdict, Verdict::kWorse);
  // The same in every draw, but too little to be seen: 0.09 points.
  report.runs[2].busy = 0.6009;
  report.runs[3].busy = 0.6409;
  EXPECT_EQ(CompareAll(report)[0].Of(Goal::kBusy).verdict, Verdict::kNoDifference);
}

TEST(ComparisonTest, OneDrawTellsNothingAboutChance) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs.erase(report.runs.begin() + 3);
  report.runs.erase(report.runs.begin() + 1);
  const PolicyComparison c = CompareAll(report)[0];
  for (const GoalChange& change : c.goals) {
    EXPECT_EQ(change.verdict, Verdict::kOneDraw);
    EXPECT_FALSE(change.difference.has_interval());
  }
  EXPECT_THAT(SummarizeTrade(c),
              HasSubstr("crux against ecmp, one draw (nothing is known about chance): +10.0 points"));
}

TEST(ComparisonTest, OfRunsOfUnequalTimeTheCommonBeginningIsCompared) {
  sim::SimulationReport report = MakeSmallReport();
  sim::RunResult& stopped = report.runs[3];
  stopped.simulated_s = 2000;  // two whole bins of 900 s
  stopped.partial = true;
  stopped.timeline.gpu_busy = {0.9, 0.8, 0.1};
  stopped.timeline.held_gpu_s = {900, 2700, 200};
  report.runs[1].timeline.gpu_busy = {0.5, 0.5, 1, 1};
  PolicyComparison c = CompareAll(report)[0];
  EXPECT_EQ(c.num_pairs, 1u);
  EXPECT_EQ(c.num_pairs_in_part, 1u);
  const GoalChange& busy = c.Of(Goal::kBusy);
  EXPECT_EQ(busy.difference.count, 2u);
  EXPECT_NEAR(busy.difference.mean, (0.1 + (0.9 * 0.25 + 0.8 * 0.75) - 0.5) / 2, 1e-12);
  EXPECT_EQ(c.Of(Goal::kMeanSlowdown).difference.count, 1u);
  EXPECT_THAT(c.left_out, testing::ElementsAre("Of draw 1 only how busy GPUs were is compared, over the time that both "
                                               "runs reached (30 min): ecmp ended after 60 min, crux after 33.3 min."));
  // The only draw: the rest is not compared, and reported as such.
  report.runs.erase(report.runs.begin() + 2);
  report.runs.erase(report.runs.begin());
  c = CompareAll(report)[0];
  EXPECT_EQ(c.num_pairs, 0u);
  EXPECT_EQ(c.Of(Goal::kBusy).verdict, Verdict::kOneDraw);
  EXPECT_EQ(c.Of(Goal::kGpuHoursLost).verdict, Verdict::kNotCompared);
  EXPECT_THAT(SummarizeTrade(c), testing::StartsWith("crux against ecmp, one draw"));
}

TEST(ComparisonTest, RunsWithoutACommonBinAreNotCompared) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[3].simulated_s = 800;
  PolicyComparison c = CompareAll(report)[0];
  EXPECT_EQ(c.num_pairs, 1u);
  EXPECT_NEAR(c.Of(Goal::kBusy).difference.mean, 0.1, 1e-12);
  EXPECT_THAT(c.left_out,
              testing::ElementsAre("Left out: draw 1, one run of which ended before there was anything to compare."));
  report.runs[2].simulated_s = 800;
  c = CompareAll(report)[0];
  EXPECT_EQ(c.num_pairs + c.num_pairs_in_part, 0u);
  EXPECT_EQ(c.Of(Goal::kBusy).verdict, Verdict::kNotCompared);
  EXPECT_EQ(SummarizeTrade(c), "crux against ecmp: not compared, they have no draw in common");
  // Stopped at the same instant they may be.
  for (sim::RunResult& run : report.runs) run.simulated_s = 800;
  EXPECT_EQ(CompareAll(report)[0].num_pairs, 2u);
}

TEST(ComparisonTest, DrawsThatOnlyOnePolicyRanAreNotPaired) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[2].draw = 7;
  const PolicyComparison c = CompareAll(report)[0];
  EXPECT_EQ(c.num_pairs, 1u);
  EXPECT_NEAR(c.Of(Goal::kBusy).difference.mean, 0.72 - 0.64, 1e-12);
  EXPECT_THAT(c.left_out, testing::ElementsAre("Left out: draws 0, 7, run under one of the two only."));
}

TEST(ComparisonTest, StalledJobsAreAGoalAndTheirSlowdownsBounds) {
  sim::SimulationReport report = MakeSmallReport();
  for (const size_t i : {2u, 3u}) {
    report.runs[i].num_stalled = 1;
    report.runs[i].slowdowns_are_bounds = true;
    report.runs[i].worst_slowdown = 60;
  }
  PolicyComparison c = CompareAll(report)[0];
  EXPECT_EQ(c.Of(Goal::kStalledJobs).verdict, Verdict::kWorse);
  EXPECT_EQ(c.Of(Goal::kWorstSlowdown).verdict, Verdict::kWorse);  // at least 60 is more than 1.5
  EXPECT_THAT(SummarizeTrade(c), HasSubstr("worst job >= 40x slower, 1 more job is stalled still (+1 to +1)"));
  // The mean fell, but it is only known to be at least so much.
  EXPECT_EQ(c.Of(Goal::kMeanSlowdown).verdict, Verdict::kNotCompared);
  EXPECT_THAT(SummarizeTrade(c), HasSubstr("; mean slowdown: not compared"));
}

TEST(ComparisonTest, SwappedPoliciesSwapTheSigns) {
  const sim::SimulationReport report = MakeTestReport({.num_jobs = 12, .num_leaves = 8, .num_spines = 4});
  const PolicyComparison there = Compare(report, "ecmp", "crux");
  const PolicyComparison back = Compare(report, "crux", "ecmp");
  for (const Goal goal : kGoals) {
    EXPECT_NEAR(there.Of(goal).difference.mean, -back.Of(goal).difference.mean, 1e-9);
    EXPECT_EQ(there.Of(goal).verdict == Verdict::kBetter, back.Of(goal).verdict == Verdict::kWorse);
  }
  EXPECT_NEAR(there.gpu_hours_won_per_day.max, -back.gpu_hours_won_per_day.min, 1e-6);
  // What the jobs won adds up to what the run won: the toy model computes the run's loss from the same jobs.
  double won = 0;
  for (const JobChange& job : there.jobs) won += job.gpu_hours_won_per_day;
  EXPECT_NEAR(won, there.gpu_hours_won_per_day.mean, 1e-6 * std::abs(won));
}

TEST(ComparisonTest, EcmpIsTheBaselineWhereverItIsListed) {
  sim::SimulationReport report = MakeSmallReport();
  std::rotate(report.runs.begin(), report.runs.begin() + 2, report.runs.end());
  EXPECT_EQ(CompareAll(report)[0].baseline, "ecmp");
  for (sim::RunResult& run : report.runs) run.policy = run.policy == "ecmp" ? "varys" : run.policy;
  EXPECT_EQ(CompareAll(report)[0].baseline, "crux");
  report.runs.resize(2);
  EXPECT_TRUE(CompareAll(report).empty());
}

}  // namespace
}  // namespace fairlead::report
