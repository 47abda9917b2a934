#include "report/explain_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "report/printable_text.h"
#include "report/report_test_data.h"
#include "report/text_table.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;
using testing::Not;

void ExpectFits(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

TEST(ExplainJobTest, BlamesLinkAndSharer) {
  const sim::SimulationReport report = MakeSmallReport();
  const Result<JobExplanation> result = ExplainJob(report.runs[2], JobId(1));
  ASSERT_TRUE(result.ok());
  const JobExplanation& e = *result;
  // small under crux: 2,250 iterations x 0.6 s = 1,350 s behind, x 8 GPUs = 3 GPU-hours in an hour, 72 a day.
  EXPECT_NEAR(e.job.lost_s, 1350, 1e-9);
  EXPECT_NEAR(e.job.lost_gpu_hours, 3, 1e-12);
  EXPECT_NEAR(e.lost_gpu_hours_per_day, 72, 1e-9);
  ASSERT_EQ(e.losses.size(), 2u);
  EXPECT_EQ(e.losses[0].loss.link_name, "leaf0->spine0");
  EXPECT_DOUBLE_EQ(e.losses[0].loss.lost_s, 720);
  EXPECT_DOUBLE_EQ(e.losses[0].utilization, 0.5);
  EXPECT_EQ(e.losses[0].other.id, JobId(0));
  EXPECT_EQ(e.losses[0].other.name, "big");
  EXPECT_EQ(e.losses[0].loss.cause, sim::LossCause::kLevel);
  EXPECT_FALSE(e.losses[1].other.id.valid());
  EXPECT_TRUE(e.delayed.empty());
}

TEST(ExplainJobTest, DelaysOfOtherJobsAreSummedOverLinks) {
  sim::RunResult run = MakeSmallReport().runs[0];
  run.jobs[1].lost_to = {{sim::LossCause::kLevel, JobId(0), LinkId(7), "b", 4, 0.4},
                         {sim::LossCause::kJob, JobId(0), LinkId(6), "a", 2, 0.2},
                         {sim::LossCause::kSelf, JobId(), LinkId(6), "a", 1, 0.1}};
  const JobExplanation e = ExplainJob(run, JobId(0)).value();
  ASSERT_EQ(e.delayed.size(), 1u);
  EXPECT_DOUBLE_EQ(e.delayed[0].lost_s, 6);
  EXPECT_NEAR(e.delayed[0].gpu_hours, 0.6, 1e-12);
  EXPECT_TRUE(e.delayed[0].yielded);
  ExpectFits(RenderExplanation(e).Render());
}

TEST(ExplainReportTest, EveryCauseHasItsRowAndTheyAddUp) {
  sim::RunResult run = MakeSmallReport().runs[0];
  sim::JobResult& job = run.jobs[0];
  job.lost_to.clear();
  for (const auto cause :
       {sim::LossCause::kJob, sim::LossCause::kSelf, sim::LossCause::kLevel, sim::LossCause::kCapacity,
        sim::LossCause::kRestart, sim::LossCause::kProfiling, sim::LossCause::kShift, sim::LossCause::kNotAttributed}) {
    job.lost_to.push_back({cause, JobId(), LinkId(), "", 150, 0.5});  // 8 x 150 = 1,200 s
  }
  const std::string text = RenderExplanation(ExplainJob(run, JobId(0)).value()).Render();
  for (const char* word : {"shares", "self", "yields", "capacity", "restart", "profiling", "shift", "not named"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
  EXPECT_THAT(text, HasSubstr("in all"));
  EXPECT_THAT(text, HasSubstr("Of 20 min lost: 12.5 % to jobs that share its links, 12.5 % to its own flows"));
  ExpectFits(text);
}

TEST(ExplainJobTest, NoSuchJobNamesTheRange) {
  const Status status = ExplainJob(MakeSmallReport().runs[0], JobId(7)).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "job 7: the run has no such job; its 2 jobs have ids from 0 to 1");
  EXPECT_EQ(ExplainJob({}, JobId(7)).status().message(), "job 7: the run has no jobs");
  EXPECT_FALSE(ExplainJob({}, JobId()).ok());
}

TEST(ExplainReportTest, Text) {
  const std::string text = RenderExplanation(ExplainJob(MakeSmallReport().runs[2], JobId(1)).value()).Render();
  EXPECT_THAT(text, HasSubstr("Job 1 \"small\": 8 GPUs, model bert-large; policy crux, draw 0\n"));
  EXPECT_THAT(text, HasSubstr("1.6 s per iteration, 1 s alone: 1.60x"));
  EXPECT_THAT(text, HasSubstr("cost 3 GPU-hours"));
  EXPECT_THAT(text,
              HasSubstr("Bounding link: leaf0->spine0 (200 Gb/s, 50.0 % used), where 1 other job delays it; 12 min"));
  // 720 / 1350
  EXPECT_THAT(text, HasSubstr("Of 22.5 min lost: 53.3 % to more important jobs, 46.7 % to what the run can't name."));
  EXPECT_THAT(text, HasSubstr("Decision: level 1, rank 1 by priority (0 goes first). Reason: because"));
  EXPECT_THAT(text, HasSubstr("yields"));
  ExpectFits(text);
}

TEST(ExplainReportTest, JobsThatHaveNothingToExplain) {
  sim::RunResult run = MakeSmallReport().runs[2];
  EXPECT_THAT(RenderExplanation(ExplainJob(run, JobId(0)).value()).Render(), HasSubstr("It runs at full speed"));
  EXPECT_THAT(RenderExplanation(ExplainJob(run, JobId(0)).value()).Render(), Not(HasSubstr("Why it loses time")));
  run.jobs[0].start_s = -1;
  EXPECT_THAT(RenderExplanation(ExplainJob(run, JobId(0)).value()).Render(), HasSubstr("never started"));
  run.jobs[1].slowdown = 0;
  run.partial = true;
  const std::string text = RenderExplanation(ExplainJob(run, JobId(1)).value()).Render();
  EXPECT_THAT(text, HasSubstr("It has done no work."));
  EXPECT_THAT(text, HasSubstr("PARTIAL run, stopped after 60 min"));
}

TEST(ExplainReportTest, AStalledJobHasABound) {
  sim::RunResult run = MakeSmallReport().runs[2];
  run.jobs[1].condition = sim::JobCondition::kStalled;
  run.jobs[1].stalled_s = 600;
  run.jobs[1].slowdown = 40;
  const JobExplanation e = ExplainJob(run, JobId(1)).value();
  EXPECT_THAT(RenderExplanation(e).Render(),
              HasSubstr("It is stalled: no work for 10 min when the run ended. Slowdown >= 40x"));
  EXPECT_EQ(ToJson(e)["slowdown_is_bound"], true);
}

TEST(ExplainReportTest, HostileNamesFitAndUnknownNumbersAreNull) {
  sim::RunResult run = MakeTestReport({.num_jobs = 30, .num_seeds = 1, .num_leaves = 4, .num_spines = 2}).runs[0];
  for (sim::JobResult& job : run.jobs) job.name = std::string(200, 'n') + "\x1b[2J";
  run.jobs[3].iteration_s = run.jobs[3].lost_gpu_hours = std::nan("");
  const JobExplanation e = ExplainJob(run, JobId(3)).value();
  const std::string text = RenderExplanation(e).Render();
  ExpectFits(text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  const Json json = Json::parse(Dump(ToJson(e)));
  EXPECT_TRUE(json["iteration_s"].is_null());
  EXPECT_TRUE(json["lost_gpu_hours"].is_null());
  EXPECT_EQ(json["job"], 3);
}

TEST(ExplainReportTest, JsonCarriesTheSameNumbers) {
  const Json json = ToJson(ExplainJob(MakeSmallReport().runs[2], JobId(1)).value());
  EXPECT_EQ(json["bounding_link"], "leaf0->spine0");
  EXPECT_EQ(json["lost_to"][0]["job"], 0);
  EXPECT_EQ(json["lost_to"][0]["kind"], "level");
  EXPECT_EQ(json["lost_to"][0]["lost_s"], 720.0);
  EXPECT_NEAR(json["lost_gpu_hours_per_day"].get<double>(), 72, 1e-9);
}

}  // namespace
}  // namespace fairlead::report
