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

// The golden text was reviewed by hand. busy: ecmp 60 and 64, so 62.0 +- 2.8 (4 / sqrt 2); crux 70 and 72, so 71.0
// +- 1.4; pairwise +10 and +8, so +9.0 points, 9 / 62 = 14.5 %. GPU-hours: see run_summary_test. After an intended
// change, run the test with FAIRLEAD_UPDATE_GOLDEN=1 and review the difference.
TEST(TextReportTest, Golden) {
  const std::string path = FAIRLEAD_SOURCE_DIR "/src/report/text_report_golden.txt";
  const std::string text = RenderText(MakeSmallReport());
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
                                              .policies = policies})));
      }
    }
  }
}

TEST(TextReportTest, NothingWasRun) {
  EXPECT_EQ(RenderText({}), "(no title)\n0 runs\n\nNothing was run.\n");
  sim::SimulationReport report;
  report.runs.resize(1);  // every field of the run at its default
  ExpectFits(RenderText(report));
  EXPECT_THAT(RenderText(report), HasSubstr("No job was submitted."));
}

TEST(TextReportTest, PartialRunsAreMarked) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_THAT(RenderText(report), Not(HasSubstr("PARTIAL")));
  report.runs[1].partial = true;
  EXPECT_THAT(RenderText(report), HasSubstr("PARTIAL: 1 of 4 runs stopped before the end"));
  EXPECT_THAT(RenderText(report), HasSubstr("ecmp PARTIAL 1/2"));
}

TEST(TextReportTest, FailedRunsAreToldBeforeTheRest) {
  sim::SimulationReport report = MakeSmallReport();
  report.failed_runs = {{"crux", 3, "a.cc:1: check failed: x < " + std::string(200, 'y'), "fairlead sim run s.yaml"}};
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("FAILED: crux, seed 3: a.cc:1: check failed"));
  EXPECT_THAT(text, HasSubstr("\n  reproduce: fairlead sim run s.yaml\n"));
  EXPECT_LT(text.find("FAILED"), text.find("GPU utilization"));
  ExpectFits(text);
  report.runs.clear();
  EXPECT_THAT(RenderText(report), HasSubstr("No run has results."));
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
  const std::string text = RenderText(report);
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
