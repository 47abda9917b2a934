#include "report/text_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
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
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(DisplayWidth(line), kTextWidth) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << '"' << line << '"';
  }
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

// The golden text was reviewed by hand. busy: ecmp 60 and 64, so 62.0 +- 25.4 (12.706 x 2.83 / sqrt 2); crux 70 and 72,
// so 71.0 +- 12.7; pairwise +10 and +8, so +9.0 points +- 12.7. The rest: see run_summary_test. After an intended
// change, run the test with FAIRLEAD_UPDATE_GOLDEN=1 and review the difference.
TEST(TextReportTest, Golden) {
  const std::string path = FAIRLEAD_SOURCE_DIR "/src/report/text_report_golden.txt";
  const std::string text = RenderText(MakeSmallReport()).Render();
  if (std::getenv("FAIRLEAD_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path;
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
  ExpectFits(text);
}

TEST(TextReportTest, FitsAtEverySize) {
  for (const uint32_t num_jobs : {0u, 1u, 39u}) {
    for (const uint32_t num_seeds : {1u, 3u}) {
      for (const std::vector<std::string>& policies : {std::vector<std::string>{"crux"},
                                                       {"ecmp", "crux"},
                                                       {"a", "b", "c", "d", "a-policy-with-quite-a-long-name"}}) {
        ExpectFits(RenderText(MakeTestReport({.num_jobs = num_jobs,
                                              .num_seeds = num_seeds,
                                              .num_leaves = 6,
                                              .num_spines = 3,
                                              .num_bins = 4,
                                              .policies = policies}))
                       .Render());
      }
    }
  }
}

TEST(TextReportTest, NothingWasRun) {
  EXPECT_EQ(RenderText({}).Render(), "(no title)\n0 runs\n\nNothing was run.\n");
  sim::SimulationReport report;
  report.runs.resize(1);  // every field of the run at its default
  ExpectFits(RenderText(report).Render());
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("No job was submitted."));
}

TEST(TextReportTest, PartialRunsAreMarked) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_THAT(RenderText(report).Render(), Not(HasSubstr("PARTIAL")));
  report.runs[1].partial = true;
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("PARTIAL: 1 of 4 runs stopped before the end"));
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("ecmp PARTIAL 1/2"));
}

TEST(TextReportTest, StalledJobsAreNamed) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_THAT(RenderText(report).Render(), Not(HasSubstr("is stalled in")));
  sim::RunResult& run = report.runs[3];
  run.jobs[1].condition = sim::JobCondition::kStalled;
  run.jobs[1].stalled_s = 600;
  run.jobs[1].slowdown = run.worst_slowdown = 40;
  run.slowdowns_are_bounds = true;
  run.num_stalled = 1;
  report.runs[0].jobs[0].condition = sim::JobCondition::kCutOff;
  report.runs[0].num_cut_off = 1;
  const std::string text = RenderText(report).Render();
  EXPECT_THAT(text,
              HasSubstr("crux: job 1 \"small\" is stalled in 1 of 2 draws (slowdown >= 40x): no work for 10 min"));
  EXPECT_THAT(text, HasSubstr("ecmp: job 0 \"big\" is cut off by links that are down in 1 of 2 draws"));
  EXPECT_THAT(text, HasSubstr(">= 20.8"));  // the worst of 40 and 1.6
  ExpectFits(text);
}

TEST(TextReportTest, OneDrawHasNoIntervalAndANote) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs.erase(report.runs.begin() + 3);
  report.runs.erase(report.runs.begin() + 1);
  const std::string text = RenderText(report).Render();
  EXPECT_THAT(text, Not(HasSubstr("±")));
  EXPECT_THAT(text, HasSubstr("--seeds 10 tells"));
  EXPECT_THAT(text, HasSubstr("one draw\n"));
}

TEST(TextReportTest, ManyJobsHaveAPercentile) {
  EXPECT_THAT(RenderText(MakeTestReport({.num_jobs = 99})).Render(), Not(HasSubstr("p99")));
  EXPECT_THAT(RenderText(MakeTestReport({.num_jobs = 100})).Render(), HasSubstr("p99"));
}

TEST(TextReportTest, DoubtsAboutTheInputAreNotes) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_THAT(RenderText(report).Render(), Not(HasSubstr("Note: ")));
  report.doubts = {"Job 0 \"big\" does more FLOP than its GPUs can."};
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("Note: Job 0 \"big\" does more FLOP than its GPUs can.\n"));
}

TEST(TextReportTest, NamesWhatVaries) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("4 runs: 2 policies x 2 draws (hash, phases and placement vary)"));
  report.varied = {"hash"};
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("(hash varies)"));
  for (sim::RunResult& run : report.runs) run.busy = 0.5;
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("which changes nothing here"));
}

TEST(TextReportTest, FailedRunsAreReportedBeforeTheRest) {
  sim::SimulationReport report = MakeSmallReport();
  report.failed_runs = {
      {"crux", 2, 3, "a.cc:1: check failed: x < " + std::string(200, 'y'), "fairlead sim run s.yaml"}};
  const std::string text = RenderText(report).Render();
  EXPECT_THAT(text, HasSubstr("FAILED: crux, seed 3: a.cc:1: check failed"));
  EXPECT_THAT(text, HasSubstr("\n  reproduce: fairlead sim run s.yaml\n"));
  EXPECT_LT(text.find("FAILED"), text.find("GPU utilization"));
  ExpectFits(text);
  report.runs.clear();
  EXPECT_THAT(RenderText(report).Render(), HasSubstr("No run has results."));
}

TEST(TextReportTest, HostileNamesAndNumbers) {
  sim::SimulationReport report = MakeSmallReport();
  report.scenario = std::string(300, 'W') + "\x1b[2J";
  report.fabric_summary = std::string(150, 'f');
  for (sim::RunResult& run : report.runs) {
    run.policy = run.policy + std::string(50, '!');
    run.busy = std::nan("");
    run.gpu_hours_lost = std::nan("");
    run.fast_forward_error_bound = std::nan("");
    for (sim::JobResult& job : run.jobs) {
      job.name = "日本語日本語日本語日本語日本語日本語\n\x1b[31m";
      job.iteration_s = std::nan("");
      job.slowdown = 1e300;
    }
    for (sim::LinkResult& link : run.links) link.name = std::string(90, 'l');
  }
  const std::string text = RenderText(report).Render();
  ExpectFits(text);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(TextTableTest, NarrowsTheWidestLeftColumnOnly) {
  TextTable table({{"name", Align::kLeft, ""}, {"n", Align::kRight, ""}, {"note", Align::kLeft, ""}});
  table.AddRow({"abcdefghij", "1234", "0123456789abcdef"});
  // 10 + 2 + 4 + 2 + 16 = 34; for 26 the 16-wide column gives 6, then both left columns are 10 wide and give 1 each.
  EXPECT_EQ(table.Render(26),
            "name          n  note\n"
            "--------------------------\n"
            "abcdefgh…  1234  01234567…\n");
  EXPECT_EQ(table.Render(34).substr(0, 24), "name           n  note\n-");
}

TEST(TextTableTest, GroupsSpanTheirColumns) {
  TextTable table({{"a", Align::kLeft, ""}, {"12345678", Align::kRight, "both"}, {"12345678", Align::kRight, "both"}});
  table.AddRow({"x", "1"});
  EXPECT_EQ(table.Render(),
            "   ------ both ------\n"
            "a  12345678  12345678\n"
            "---------------------\n"
            "x         1\n");
}

}  // namespace
}  // namespace fairlead::report
