#include "sim/fwl_runner.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "sim/fwl_report.h"

namespace fairlead::sim {
namespace {

using ::testing::HasSubstr;

constexpr FwlDetail kDetails[] = {FwlDetail::kCoupled, FwlDetail::kEdge, FwlDetail::kStepwise};

FwlResult RunText(const std::string& text, FwlOptions options = {}) {
  const Result<FwlWorkload> workload = ParseFwlWorkload(text, "test.fwl");
  FL_CHECK_MSG(workload.ok(), workload.status().message());
  const Result<FwlResult> result = RunFwl(*workload, options);
  FL_CHECK_MSG(result.ok(), result.status().message());
  return *result;
}

FwlResult RunText(const std::string& text, FwlDetail detail) { return RunText(text, FwlOptions{.detail = detail}); }

// A job of 8 rings over `num_hosts` hosts; edge e of ring r goes over link 2 * (r * num_hosts + e) alone, unless
// `shared` makes the first edge of every ring use link 1.
std::string RingJob(int id, int num_hosts, double bytes, double compute_s, int iterations, bool shared = false) {
  std::string text = fmt::format("job {} 0 {} {} 0 {}\n", id, compute_s, iterations, 8 * num_hosts);
  for (int edge = 0; edge < 8 * num_hosts; ++edge) {
    const int link = shared && edge % num_hosts == 0 ? 1 : 2 * (edge + 1000 * id);
    text += fmt::format("f {} 1 {}\n", bytes, link);
  }
  return text;
}

TEST(FwlRunner, OneJobAloneFollowsTheClosedForm) {
  // Start 0.5 s, then 3 iterations of 0.25 s compute and 2000 bytes over a link of 1000 bytes/s that two flows share:
  // 2 flows * 1000 bytes / 1000 = 2 s. End 0.5 + 3 * 2.25 = 7.25, mean iteration 2.25.
  const FwlResult result = RunText("fwl 1\nlinkcaps 9 1000\njobs 1\njob 0 0 0.25 3 0.5 2\nf 1000 1 4\nf 1000 2 4 5\n");
  EXPECT_DOUBLE_EQ(result.end_s, 7.25);
  EXPECT_DOUBLE_EQ(result.mean_iteration_s, 2.25);
  EXPECT_EQ(result.completions, 6);
  EXPECT_EQ(result.iterations, 3);
}

// Crux, section 2: two identical jobs with 1 s of compute and 1 s of communication alone. Sharing alike, both send at
// once for 2 s: period 3 s. With strict priority the second waits once, then they alternate with period 2 s.
TEST(FwlRunner, TwoEqualJobsShareOrAlternate) {
  const std::string text =
      "fwl 1\nlinkcaps 1 1000\njobs 2\njob 0 0 1 10 0 1\nf 1000 1 0\njob 1 1 1 10 0 1\nf 1000 1 0\n";
  EXPECT_DOUBLE_EQ(RunText(text).end_s, 30);
  const FwlResult strict = RunText(text, FwlOptions{.strict_priority = true});
  EXPECT_DOUBLE_EQ(strict.iteration_ends_s[0].back(), 20);
  EXPECT_DOUBLE_EQ(strict.iteration_ends_s[1].back(), 21);
}

TEST(FwlRunner, OneIterationCountsAsItsEnd) {
  const FwlResult result = RunText("fwl 1\nlinkcaps 1 1000\njobs 1\njob 0 0 0 1 2 1\nf 1000 1 0\n");
  EXPECT_DOUBLE_EQ(result.mean_iteration_s, 3);
}

TEST(FwlRunner, JobsWithoutFlowsTakeNoPart) {
  const FwlResult result = RunText("fwl 1\nlinkcaps 1 1000\njobs 2\njob 0 0 5 9 0 0\njob 1 0 1 0 0 1\nf 1000 1 0\n");
  EXPECT_EQ(result.end_s, 0);
  EXPECT_EQ(result.iterations, 0);
}

TEST(FwlRunner, AllDetailsAgreeOnRingsAlone) {
  // 4 hosts, every edge has its own link: 6000 bytes at 1000 bytes/s = 6 s, as one variable, as edges, and as 6
  // messages of 1000 bytes each.
  const std::string text = "fwl 1\nlinkcaps 99999 1000\njobs 1\n" + RingJob(0, 4, 6000, 1, 5);
  for (const FwlDetail detail : kDetails) EXPECT_DOUBLE_EQ(RunText(text, detail).end_s, 35);
  EXPECT_EQ(RunText(text, FwlDetail::kCoupled).completions, 8 * 5);
  EXPECT_EQ(RunText(text, FwlDetail::kEdge).completions, 32 * 5);
  EXPECT_EQ(RunText(text, FwlDetail::kStepwise).completions, 32 * 6 * 5);
}

TEST(FwlRunner, CoupledRingsMoveAtTheirSlowestEdge) {
  // All 8 rings of 2 hosts cross link 1 with their first edge: 8 * 1000 bytes at 1000 bytes/s, 8 s whatever the detail.
  // As edges the second edges are through after 1 s; a coupled ring keeps its one flow for 8 s. A second job has one
  // ring edge on the first job's fast link 2 * 1: beside a lingering coupled ring (1/8 of the link) 1000 bytes take 8/7
  // s; beside an edge that takes its fair half they take 2 s.
  const std::string head = "fwl 1\nlinkcaps 99999 1000\njobs 2\n" + RingJob(0, 2, 1000, 0, 1, true);
  const std::string text = head + "job 1 0 0 1 0 1\nf 1000 1 2\n";
  const FwlResult coupled = RunText(text, FwlDetail::kCoupled);
  EXPECT_NEAR(coupled.iteration_ends_s[0].back(), 8, 1e-9);
  EXPECT_NEAR(coupled.iteration_ends_s[1].back(), 8.0 / 7, 2e-9);
  const FwlResult edge = RunText(text, FwlDetail::kEdge);
  EXPECT_NEAR(edge.iteration_ends_s[0].back(), 8, 1e-9);
  EXPECT_NEAR(edge.iteration_ends_s[1].back(), 2, 2e-9);
}

TEST(FwlRunner, CoupledCountsAMultiset) {
  // One ring's two edges cross the same link: at rate r the ring takes 2 r of it, so 8 rings of 2 * 500 bytes take 8 s.
  std::string text = "fwl 1\nlinkcaps 1 1000\njobs 1\njob 0 0 0 1 0 16\n";
  for (int edge = 0; edge < 16; ++edge) text += "f 500 1 0\n";
  EXPECT_DOUBLE_EQ(RunText(text, FwlDetail::kCoupled).end_s, 8);
  EXPECT_DOUBLE_EQ(RunText(text, FwlDetail::kEdge).end_s, 8);
}

TEST(FwlRunner, JobsThatAreNoRingsStayAsTheyAre) {
  // 16 flows of which one differs: not 8 equal rings. 9 flows: not divisible.
  std::string unequal = "fwl 1\nlinkcaps 16 1000\njobs 1\njob 0 0 0 1 0 16\n";
  for (int edge = 0; edge < 16; ++edge) unequal += fmt::format("f {} 1 {}\n", edge == 3 ? 600 : 500, edge);
  std::string nine = "fwl 1\nlinkcaps 16 1000\njobs 1\njob 0 0 0 1 0 9\n";
  for (int edge = 0; edge < 9; ++edge) nine += fmt::format("f 500 1 {}\n", edge);
  for (const FwlDetail detail : kDetails) {
    EXPECT_EQ(RunText(unequal, detail).completions, 16);
    EXPECT_EQ(RunText(nine, detail).completions, 9);
  }
}

TEST(FwlRunner, StepwiseWaitsForTheEdgeBefore) {
  // 8 rings of 2 edges, 2 messages per edge and iteration. Ring 0: edge 0 on its own link, edge 1 on a link that it
  // shares with a foreign flow of 10000 bytes, so it has 500 of 1000 bytes/s. Messages of floor(1001/2) = 500 bytes.
  // Edge 0 sends 0 .. 0.5; its second needs edge 1's first (0 .. 1) and goes 1 .. 1.5; edge 1's second goes 1 .. 2. All
  // other rings need 1 s.
  std::string text = "fwl 1\nlinkcaps 32 1000\njobs 2\njob 0 0 0 1 0 16\n";
  for (int edge = 0; edge < 16; ++edge) text += fmt::format("f 1001 1 {}\n", edge);
  text += "job 1 0 0 1 0 1\nf 10000 1 1\n";
  EXPECT_NEAR(RunText(text, FwlDetail::kStepwise).iteration_ends_s[0].back(), 2, 2e-9);
}

TEST(FwlRunner, SameInputSameOutput) {
  Random random(3);
  std::string text = "fwl 1\nlinkcaps 40 1000\njobs 10\n";
  for (int j = 0; j < 10; ++j) {
    text += fmt::format("job {} {} {:.6f} 4 {:.6f} 16\n", j, j % 3, random.Uniform(), random.Uniform());
    for (int f = 0; f < 16; ++f) text += fmt::format("f 5000 2 {} {}\n", random.Below(20), 20 + random.Below(20));
  }
  for (const FwlDetail detail : kDetails) {
    for (const bool strict : {false, true}) {
      const FwlResult a = RunText(text, FwlOptions{detail, strict});
      const FwlResult b = RunText(text, FwlOptions{detail, strict});
      EXPECT_EQ(a.iteration_ends_s, b.iteration_ends_s);
      EXPECT_EQ(a.iterations, 40);
    }
  }
}

TEST(FwlRunner, RefusesPrioritiesWithoutALevel) {
  const Result<FwlWorkload> workload =
      ParseFwlWorkload("fwl 1\nlinkcaps 1 1000\njobs 1\njob 5 64 0 1 0 1\nf 1 1 0\n", "test.fwl");
  ASSERT_TRUE(workload.ok());
  EXPECT_TRUE(RunFwl(*workload, {}).ok());
  const Result<FwlResult> strict = RunFwl(*workload, {.strict_priority = true});
  EXPECT_THAT(strict.status().message(), HasSubstr("job 5: expected a priority below 64, found 64"));
}

TEST(FwlRunner, ReportsFlowsThatNeverEnd) {
  // 1e18 bytes at 1e-300 bytes/s.
  const Result<FwlWorkload> workload =
      ParseFwlWorkload("fwl 1\nlinkcaps 1 1e-300\njobs 1\njob 5 0 0 1 0 1\nf 1e18 1 0\n", "test.fwl");
  ASSERT_TRUE(workload.ok()) << workload.status().message();
  EXPECT_EQ(RunFwl(*workload, {}).status().code(), StatusCode::kFailedPrecondition);
}

TEST(FwlReport, JsonHasNineDecimals) {
  FwlResult result;
  result.end_s = 1.5;
  result.mean_iteration_s = 0.123456789012;
  result.completions = 42;
  result.cpu_s = 0.25;
  EXPECT_EQ(RenderFwlJson(result, 12.5),
            "{\"end_s\": 1.500000000, \"mean_iteration_s\": 0.123456789, \"completions\": 42, \"cpu_s\": 0.250000000, "
            "\"peak_rss_mb\": 12.500000000}\n");
}

TEST(FwlDetail, Names) {
  EXPECT_EQ(*ParseFwlDetail("coupled"), FwlDetail::kCoupled);
  EXPECT_EQ(*ParseFwlDetail("edge"), FwlDetail::kEdge);
  EXPECT_EQ(*ParseFwlDetail("stepwise"), FwlDetail::kStepwise);
  EXPECT_THAT(ParseFwlDetail("edges").status().message(), HasSubstr("found 'edges'"));
}

}  // namespace
}  // namespace fairlead::sim
