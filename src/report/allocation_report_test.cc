// Reports about allocations: summaries, sizes over time, and explanations of decisions.
#include "report/allocation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/allocation_explanation.h"
#include "report/allocation_summary.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

using ::testing::HasSubstr;

sim::JobResult MakeJob(uint32_t id, double arrival_s, double end_s, bool finished, sim::AllocationResult allocation) {
  sim::JobResult job;
  job.id = JobId(id);
  job.name = "job" + std::to_string(id);
  job.arrival_s = arrival_s;
  job.end_s = end_s;
  job.finished = finished;
  job.allocation = std::move(allocation);
  return job;
}

sim::SimulationReport MakeReport() {
  sim::RunResult run;
  run.policy = "aiturbo+crux";
  run.allocation = "aiturbo";
  run.seed = 1;
  run.simulated_s = 400;
  // 10 s of waiting, then 8 GPUs for 90 s, of which 50 s compute; and 16 GPUs from 100 to 400, not ended.
  run.jobs.push_back(MakeJob(0, 0, 100, true, {{{10, 8, "started"}}, 10, 0, 0, 720, 400}));
  run.jobs.push_back(MakeJob(1, 100, 400, false,
                             {{{100, 8, "started"}, {200, 0, "stopped"}, {200, 16, "resized"}}, 0, 1, 0, 4000, 2000}));
  sim::SimulationReport report;
  report.scenario = "test";
  report.num_gpus = 16;
  report.runs.push_back(run);
  return report;
}

TEST(AllocationSummaryTest, CountsEndedJobsAndTheClustersGpuTime) {
  const sim::SimulationReport report = MakeReport();
  const AllocationSummary summary = SummarizeAllocation(report.runs[0], 16);
  EXPECT_EQ(summary.num_unfinished, 1u);
  EXPECT_DOUBLE_EQ(summary.mean_jct_s, 100);  // of the job that ended
  EXPECT_DOUBLE_EQ(summary.makespan_s, 400);
  EXPECT_DOUBLE_EQ(summary.mean_wait_s, 5);
  EXPECT_DOUBLE_EQ(summary.restarts_per_job, 0.5);
  EXPECT_DOUBLE_EQ(summary.held_share, 4720.0 / (16 * 400));
  EXPECT_DOUBLE_EQ(summary.busy_share, 2400.0 / (16 * 400));
}

TEST(AllocationReportTest, ShowsSizesOverTimeAndFitsTheScreen) {
  const std::string text = RenderAllocation(MakeReport()).Render();
  EXPECT_THAT(text, HasSubstr("8 > 16"));
  EXPECT_THAT(text, HasSubstr("not ended"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), kTextWidth + 10) << line;  // bytes
  sim::SimulationReport fixed = MakeReport();
  fixed.runs[0].allocation.clear();
  EXPECT_EQ(RenderAllocation(fixed).Render(), "");
}

TEST(AllocationReportTest, AStopIsAPauseAResizeIsNone) {
  EXPECT_EQ(DescribeSizes({{{0, 4, ""}, {9, 0, ""}, {9, 8, ""}, {20, 0, ""}, {30, 2, ""}}, 10, 2, 1, 0, 0}),
            "4 > 8 > - > 2");
  EXPECT_EQ(DescribeSizes({}), "never started");
  sim::AllocationResult many;
  for (uint32_t i = 1; i <= 30; ++i) many.sizes.push_back({static_cast<double>(i), i, ""});
  EXPECT_EQ(DescribeSizes(many), "1 > 2 > 3 > 4 > … > 27 > 28 > 29 > 30");
}

scheduling::DecisionRecord MakeRecord(double time_s, scheduling::Change change, uint64_t gpus) {
  scheduling::DecisionRecord record;
  record.time = SimTime::FromSeconds(Seconds(time_s));
  record.num_jobs = 3;
  record.total = {16, 0};
  record.free = {4, 0};
  record.requested = {8, 0};
  record.smallest = {2, 0};
  record.granted = {gpus, 0};
  record.is_predictable = true;
  record.remaining_iterations = 100;
  record.iteration_s = 2;
  record.reason.change = change;
  record.reason.order = 2;
  record.reason.service_position = 3;
  record.reason.remaining_position = 1;
  record.reason.cause = gpus > 0 ? scheduling::PendingCause::kNone : scheduling::PendingCause::kNoGpus;
  return record;
}

TEST(AllocationExplanationTest, NamesWhatIsMissingWhichJobsAreAheadAndWhen) {
  scheduling::DecisionRecord waits = MakeRecord(10, scheduling::Change::kPending, 0);
  waits.ahead.push_back({JobId(0), 1, {12, 0}, true});
  waits.gains.push_back({scheduling::UnitOperation::kAddGpu, 50});
  const auto at = [](double s) { return SimTime::FromSeconds(Seconds(s)); };
  waits.expected_start = scheduling::TimeInterval{at(60), at(50), at(70)};
  const std::vector<scheduling::DecisionRecord> records = {waits, MakeRecord(60, scheduling::Change::kStarted, 8)};
  auto explanation = ExplainAllocation(records, std::nullopt);
  ASSERT_TRUE(explanation.ok());
  explanation->name = "mine";
  explanation->policy = "aiturbo";
  explanation->job_names = {"theirs", "mine"};
  const std::string text = RenderExplanation(*explanation).Render();
  EXPECT_THAT(text, HasSubstr("It waits. GPUs are missing: it wants 8 GPUs, 4 GPUs of 16 GPUs are free."));
  EXPECT_THAT(text, HasSubstr("Place 2 of 3"));
  EXPECT_THAT(text, HasSubstr("Expected start at 60 s (50 s to 70 s)"));
  EXPECT_THAT(text, HasSubstr("0 theirs"));
  EXPECT_THAT(text, HasSubstr("+gpu"));
  const Json json = ToJson(*explanation);
  EXPECT_EQ(json["cause"], "no GPUs left");
  EXPECT_EQ(json["ballots"]["remaining"], 1);
  EXPECT_EQ(json["expected_start"]["high_s"], 70.0);
  EXPECT_TRUE(json["expected_finish"].is_null());
  EXPECT_EQ(json["ahead"][0]["name"], "theirs");
  EXPECT_EQ(json["history"].size(), 2u);

  const auto later = ExplainAllocation(records, 100);
  ASSERT_TRUE(later.ok());
  EXPECT_THAT(RenderExplanation(*later).Render(), HasSubstr("It starts on 8 GPUs."));
}

TEST(AllocationExplanationTest, WithoutADecisionItIsReported) {
  EXPECT_THAT(std::string(ExplainAllocation({}, std::nullopt).status().message()), HasSubstr("no allocation decision"));
  const std::vector<scheduling::DecisionRecord> records = {MakeRecord(60, scheduling::Change::kStarted, 8)};
  EXPECT_THAT(std::string(ExplainAllocation(records, 5).status().message()), HasSubstr("the first one is at 60 s"));
}

}  // namespace
}  // namespace fairlead::report
