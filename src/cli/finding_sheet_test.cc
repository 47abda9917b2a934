#include "cli/finding_sheet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/markup_check.h"

namespace fairlead::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

std::string Moment(double seconds) { return fmt::format("t={:.0f}", seconds); }

wire::FindingDetail Slow() {
  wire::FindingDetail detail;
  detail.finding.job = "gpt";
  detail.finding.id = 7;
  detail.finding.syndrome = "non_comm_slow";
  detail.finding.text = "rank 3 <is> slow";
  detail.finding.hosts = {"h3"};
  detail.finding.suspected_at_s = 50;
  detail.finding.confirmed_at_s = 70;
  detail.finding.confidence = 0.84;
  detail.finding.cost_share = 0.5;
  detail.finding.cost_gpu_hours = 90;
  detail.finding.evidence = {"own time: 48 %"};
  detail.seen_at_s = 70;
  for (int i = 0; i < 40; ++i) {
    detail.blocks.push_back({.at_s = 2.0 * i + 2,
                             .seconds = i < 24 ? 1.0 : 1.5,
                             .own_seconds = i < 24 ? 0.9 : 1.4,
                             .like_low_seconds = 0.8,
                             .like_median_seconds = 0.9,
                             .like_high_seconds = 1.0});
  }
  detail.history = {{.id = 4, .job = "bert", .text = "the same host", .confirmed_at_s = 20, .cleared_at_s = 30}};
  detail.next = {{.command = "fairlead describe host h3", .shows = "what else is known"}};
  return detail;
}

TEST(FindingSheetTest, SlownessShowsIterationsAndTheAccused) {
  const wire::FindingDetail detail = Slow();
  const std::string text = DescribeFinding(detail, Moment).Render(report::OutputFormat::kTable, 100);
  EXPECT_THAT(text, HasSubstr("costs:           50.0 % of the job, 90 GPU-hours a day"));
  EXPECT_THAT(text, HasSubstr("until:           it holds"));
  EXPECT_THAT(text, HasSubstr("A block of iterations took 1 s before it was suspected, and 1.5 s since: 1.50 times"));
  EXPECT_THAT(text, HasSubstr("t=20: finding 4 of bert: the same host"));
  EXPECT_THAT(text, HasSubstr("fairlead describe host h3"));
  EXPECT_THAT(text, Not(HasSubstr("Who waits")));
  EXPECT_THAT(DrawProof(detail), SizeIs(2));
  const std::string page = RenderFindingPage(detail, Moment, "Of a test.");
  EXPECT_EQ(report::FindMarkupError(page), "");
  EXPECT_THAT(page, HasSubstr("rank 3 &lt;is&gt; slow"));
}

TEST(FindingSheetTest, AHangShowsWhoWaitsAndThatNothingHasEndedSince) {
  wire::FindingDetail detail = Slow();
  std::erase_if(detail.blocks, [](const wire::LiveBlock& block) { return block.at_s >= 50; });
  for (wire::LiveBlock& block : detail.blocks) block.own_seconds.reset();
  detail.wait_nodes = {{.label = "7 ranks: 0–2, 4–7"},
                       {.label = "all_reduce 12 on world", .is_operation = true},
                       {.label = "rank 3", .is_culprit = true}};
  detail.waits = {{0, 1}, {1, 2}};
  const std::string text = DescribeFinding(detail, Moment).Render(report::OutputFormat::kTable, 100);
  EXPECT_THAT(text, HasSubstr("A block of iterations took 1 s; none has ended since."));
  EXPECT_THAT(text, HasSubstr("all_reduce 12 on world -> rank 3   <- accused"));
  EXPECT_THAT(DrawProof(detail), SizeIs(2));
  EXPECT_EQ(report::FindMarkupError(RenderFindingPage(detail, Moment, "Of a test.")), "");
}

TEST(FindingSheetTest, CandidatesAreListedWithWhatSpeaksForThem) {
  wire::FindingDetail detail = Slow();
  EXPECT_THAT(DescribeFinding(detail, Moment).Render(report::OutputFormat::kTable, 100),
              Not(HasSubstr("not known which")));
  detail.finding.candidates = {
      {.culprit = "rank 4 on h1", .host = "h1", .why = "its GPU <stands>", .evidence = {"time: 21 s"}},
      {.culprit = "rank 0 on h0", .host = "h0", .why = "its GPU stands", .evidence = {}}};
  const std::string text = DescribeFinding(detail, Moment).Render(report::OutputFormat::kTable, 100);
  EXPECT_THAT(text, HasSubstr("One of these, and it is not known which"));
  EXPECT_THAT(text, HasSubstr("rank 4 on h1: its GPU <stands>; time: 21 s"));
  const std::string page = RenderFindingPage(detail, Moment, "Of a test.");
  EXPECT_THAT(page, HasSubstr("<li>rank 4 on h1: its GPU &lt;stands&gt;; time: 21 s</li>"));
  EXPECT_EQ(report::FindMarkupError(page), "");
}

TEST(FindingSheetTest, ThreadsOfStuckRanksAreShownAsTheirKernelsSay) {
  wire::FindingDetail detail = Slow();
  detail.threads = {{.ranks = "rank 3",
                     .is_accused = true,
                     .groups = {{.name = "python", .state = "blocked", .place = "nfs_wait < sys_read"}}},
                    {.ranks = "7 ranks: 0–2, 4–7",
                     .groups = {{.name = "python", .state = "sleeping", .place = std::string(160, 'f')},
                                {.name = "pool", .state = "sleeping", .place = "", .count = 12}}}};
  const std::string text = DescribeFinding(detail, Moment).Render(report::OutputFormat::kTable, 100);
  EXPECT_THAT(text, HasSubstr("Threads of rank 3   <- accused"));
  EXPECT_THAT(text, HasSubstr("python  blocked  nfs_wait < sys_read"));
  EXPECT_THAT(text, HasSubstr("12 x"));
  const std::string page = RenderFindingPage(detail, Moment, "Of a test.");
  EXPECT_THAT(page, HasSubstr("<code>nfs_wait &lt; sys_read</code>"));
  EXPECT_EQ(report::FindMarkupError(page), "");
}

TEST(FindingSheetTest, SlowTransfersAreATableAndAMatrix) {
  wire::FindingDetail detail = Slow();
  detail.blocks.clear();
  detail.rank_hosts = {"h0", "h0", "h1", "h1"};
  for (uint32_t from = 0; from < 4; ++from) {
    for (uint32_t to = 0; to < 4; ++to) {
      if (from != to) detail.delays.push_back({from, to, from == 2 && to == 1 ? 4.25 : 1, from == 2 && to == 1});
    }
  }
  detail.delays_left_out = 1500;
  const std::string text = DescribeFinding(detail, Moment).Render(report::OutputFormat::kTable, 100);
  EXPECT_THAT(text, HasSubstr("rank 2 on h1  rank 1 on h0  4.25x  yes"));
  ASSERT_THAT(DrawProof(detail), SizeIs(1));
  EXPECT_THAT(DrawProof(detail)[0].caption, HasSubstr("1,500 faster pairs are left out"));
  EXPECT_EQ(report::FindMarkupError(RenderFindingPage(detail, Moment, "Of a test.")), "");
}

TEST(FindingSheetTest, WithoutAProofItIsStillASheet) {
  wire::FindingDetail detail;
  detail.finding.id = 1;
  EXPECT_THAT(DescribeFinding(detail, Moment).Render(),
              testing::AllOf(HasSubstr("finding:         1"), HasSubstr("until:           it holds"),
                             HasSubstr("sure:            –")));
  EXPECT_THAT(DrawProof(detail), SizeIs(0));
  EXPECT_EQ(report::FindMarkupError(RenderFindingPage(detail, Moment, "")), "");
}

}  // namespace
}  // namespace fairlead::cli
