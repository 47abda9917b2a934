#include "report/html_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/html_table.h"
#include "report/markup_check.h"
#include "report/report_script.h"
#include "report/report_test_data.h"
#include "topology/clos_fabrics.h"

namespace fairlead::report {
namespace {

size_t CountParts(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Unlike HasSubstr, these don't print the whole page when they fail.
void ExpectHas(const std::string& page, const std::string& part) {
  EXPECT_NE(page.find(part), std::string::npos) << "missing: " << part;
}

void ExpectLacks(const std::string& page, const std::string& part) {
  EXPECT_EQ(page.find(part), std::string::npos) << "found: " << page.substr(std::min(page.size(), page.find(part)), 80);
}

// Without its script, which must be there once, and which its policy lets in by its hash.
std::string WithoutScript(std::string page) {
  const std::string script = "<script type=\"module\">" + std::string(ReportScript()) + "</script>";
  EXPECT_EQ(CountParts(page, script), 1u);
  ExpectHas(page, "script-src '" + std::string(ReportScriptHash()) + "'");
  const size_t at = page.find(script);
  return at == std::string::npos ? page : page.erase(at, script.size());
}

void ExpectSound(const std::string& whole_page) {
  EXPECT_EQ(FindMarkupError(whole_page), "");
  const std::string page = WithoutScript(whole_page);
  ExpectLacks(page, "nan");
  ExpectLacks(page, "<script");
  // Nothing is fetched: the only address is the name of the SVG namespace.
  EXPECT_EQ(CountParts(page, "http"),
            CountParts(page, "xmlns=\"http://www.w3.org/2000/svg\"") + CountParts(page, "http-equiv=\"C"));
  ExpectLacks(page, "url(");
  ExpectLacks(page, "@import");
}

TEST(HtmlReportTest, HasEveryPart) {
  const std::string page = RenderHtml(MakeSmallReport(), {.command = "fairlead sim run a.yaml --html <file>"});
  ExpectSound(page);
  for (const char* part :
       {"<h1>Two jobs, one cable</h1>", "<h2>crux against ecmp</h2>", "GPU utilization over time",
        "Slowdowns of all jobs", "Jobs that gained and lost", "Between leaves and spines", "Which jobs delay which",
        "<h2>Jobs</h2>", "Nothing is assumed.", "fairlead sim run a.yaml --html &lt;file&gt;",
        "<code>0000000000c0ffee</code>", "prefers-color-scheme: dark", "@media print"}) {
    ExpectHas(page, part);
  }
  // Headline: +9.0 points, 62.0 -> 71.0 %, within chance.
  ExpectHas(page, ">+9.0 <small>points");
  ExpectHas(page, "62.0 % → 71.0 %; no difference");
  ExpectLacks(page, "ahead");
  // Every figure has a name for readers who can't see it.
  EXPECT_EQ(CountParts(page, "<svg "), 7u);
  EXPECT_EQ(CountParts(page, "<desc>"), 7u);
  EXPECT_EQ(CountParts(page, "role=\"img\" aria-label=\""), 7u);
}

TEST(HtmlReportTest, EveryNameIsEscaped) {
  sim::SimulationReport report = MakeTestReport({.num_jobs = 12, .num_seeds = 2, .num_leaves = 6, .num_spines = 3});
  const std::string evil = "\"><script>alert('1')</script>&\xff";
  report.scenario = report.version = report.fabric_summary = evil;
  report.notes = {evil};
  for (sim::RunResult& run : report.runs) {
    run.policy += evil;
    for (sim::JobResult& job : run.jobs) job.name = job.model = job.reason = job.bounding_link = evil;
    for (sim::LinkResult& link : run.links) link.name += evil;
    for (sim::JobResult& job : run.jobs) {
      for (sim::LossResult& loss : job.lost_to) loss.link_name = evil;
    }
  }
  ExpectSound(RenderHtml(report, {.command = evil}));
}

TEST(HtmlReportTest, EmptyAndSmallReports) {
  ExpectSound(RenderHtml({}));
  ExpectHas(RenderHtml({}), "Nothing was run.");
  sim::SimulationReport report;
  report.runs.resize(1);  // every field at its default
  ExpectSound(RenderHtml(report));
  report.runs.resize(2);
  report.runs[1].policy = "crux";
  ExpectSound(RenderHtml(report));
  for (const uint32_t num_jobs : {0u, 1u, 2u}) {
    ExpectSound(RenderHtml(MakeTestReport({.num_jobs = num_jobs, .num_seeds = 1, .policies = {"crux"}})));
  }
  ExpectSound(RenderHtml(MakeTestReport({.num_jobs = 9, .policies = {"a", "b", "c", "d", "e", "f", "g", "h", "i"}})));
}

TEST(HtmlReportTest, NumbersThatAreNotFinite) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    sim::SimulationReport report = MakeSmallReport();
    for (sim::RunResult& run : report.runs) {
      run.busy = run.mean_slowdown = run.gpu_hours_lost = run.simulated_s = run.wall_s = value;
      for (sim::JobResult& job : run.jobs) job.slowdown = job.iteration_s = value;
      for (sim::LinkResult& link : run.links) link.utilization = value;
      for (sim::JobResult& job : run.jobs) {
        for (sim::LossResult& loss : job.lost_to) loss.lost_s = loss.gpu_hours = value;
      }
      run.timeline.gpu_busy[0] = value;
    }
    ExpectSound(RenderHtml(report));
    report.runs[0].timeline.bin_s = value;
    ExpectSound(RenderHtml(report));
  }
}

TEST(HtmlReportTest, PartialRunsAreMarked) {
  sim::SimulationReport report = MakeSmallReport();
  ExpectLacks(RenderHtml(report), "PARTIAL");
  report.runs[3].partial = true;
  report.runs[3].timeline.gpu_busy.resize(1);
  report.runs[3].timeline.running_jobs.resize(1);
  const std::string page = RenderHtml(report);
  ExpectSound(page);
  ExpectHas(page, "PARTIAL: 1 of 4 runs stopped");
  ExpectHas(page, "PARTIAL 1/2");
}

TEST(HtmlReportTest, ChangesOfLinksAreMarkedAndComparedWithBefore) {
  const auto fabric = topology::BuildClos({.leaves = 2, .hosts_per_leaf = 1, .spines = 2});
  ASSERT_TRUE(fabric.ok());
  const LinkId up = fabric->FindLink("leaf0->spine1");
  sim::SimulationReport report = MakeSmallReport();
  for (sim::RunResult& run : report.runs) {
    run.timeline.bin_s = 10;
    run.timeline.gpu_busy = {0.5, 0.5, 0.2, 0.2, 0.4, 0.4};
    run.timeline.running_jobs.assign(6, 2);
  }
  const auto at = [](double seconds) { return SimTime::FromSeconds(Seconds(seconds)); };
  const std::vector<sim::LinkEvent> events = {
      {at(40), up, 1}, {at(20), up, 0}, {at(20), fabric->reverse(up), 0}, {at(40), LinkId(0u), 0.5}};
  const std::string page = RenderHtml(report, {.command = "", .fabric = &*fabric, .link_events = events});
  ExpectSound(page);
  ExpectHas(page, "leaf0-&gt;spine1 down");
  ExpectHas(page, "2 links change");
  ExpectHas(page, "Before the first change, at 20 s: busy under ecmp 50.0 %");
  ExpectHas(page, "From then to the last change, at 40 s: busy under ecmp 20.0 %");
  ExpectHas(page, "After it, to 60 s: busy under ecmp 40.0 %");
  ExpectLacks(RenderHtml(report, {.command = "", .fabric = &*fabric}), "Before the first change");
}

TEST(HtmlReportTest, ElasticJobsHaveTimesAndSizes) {
  sim::SimulationReport report = MakeSmallReport();
  ExpectLacks(RenderHtml(report), "Sizes over time");
  for (sim::RunResult& run : report.runs) {
    run.allocation = run.policy == "ecmp" ? "fcfs" : "aiturbo";
    for (sim::JobResult& job : run.jobs) {
      job.arrival_s = 10;
      job.end_s = 100;
      job.finished = true;
      job.allocation = sim::AllocationResult{.sizes = {{20, 8, ""}, {50, 0, ""}, {60, 16, ""}}, .waited_s = 20};
    }
  }
  report.runs[0].jobs[0].finished = false;
  const std::string page = RenderHtml(report);
  ExpectSound(page);
  for (const char* title :
       {"Completion times", "Time without GPUs", "Sizes over time under ecmp", "Sizes over time under crux"}) {
    ExpectHas(page, title);
  }
  const std::string name = report.runs[0].jobs[0].name;
  ExpectHas(page, name + ": waits from 10 s to 20 s");
  ExpectHas(page, name + ": 8 GPUs from 20 s to 50 s");
  ExpectHas(page, name + ": waits from 50 s to 60 s");
  ExpectHas(page, name + ": 16 GPUs from 60 s to 100 s");
  // Of ecmp's four jobs in two draws one has not ended: its curve ends at three quarters.
  ExpectHas(page, "0.75]");
}

TEST(HtmlReportTest, StalledJobsAreNamed) {
  sim::SimulationReport report = MakeSmallReport();
  ExpectLacks(RenderHtml(report), "Jobs without progress");
  report.runs[0].jobs[0].condition = sim::JobCondition::kCutOff;
  report.runs[0].num_cut_off = 1;
  const std::string page = RenderHtml(report);
  ExpectSound(page);
  ExpectHas(page, "<h2>Jobs without progress</h2>");
  ExpectHas(page, "job 0 &quot;big&quot; is cut off");
}

TEST(HtmlReportTest, FailedRunsAreReported) {
  sim::SimulationReport report = MakeSmallReport();
  ExpectLacks(RenderHtml(report), "FAILED");
  report.failed_runs = {{"crux", 2, 3, "check failed: a < b", "fairlead sim run 's & t.yaml'"}};
  for (const bool has_others : {true, false}) {
    if (!has_others) report.runs.clear();
    const std::string page = RenderHtml(report);
    ExpectSound(page);
    ExpectHas(page, "FAILED: crux, seed 3: check failed: a &lt; b");
    ExpectHas(page, "s &amp; t.yaml");
  }
}

TEST(HtmlReportTest, LargeReportsStaySmall) {
  const std::string page = RenderHtml(
      MakeTestReport({.num_jobs = 700, .num_seeds = 2, .num_leaves = 60, .num_spines = 8, .num_bins = 5000}));
  ExpectSound(page);
  EXPECT_LT(page.size(), 3'000'000u);
  ExpectHas(page, "200 jobs with smaller changes are left out here");
  ExpectHas(page, "<summary>440 jobs more</summary>");
}

TEST(TypographyTest, SignsAndArrows) {
  EXPECT_EQ(TypographicNumber("-0.29"), "−0.29");
  EXPECT_EQ(TypographicNumber("1.41x -> 1.05x"), "1.41× → 1.05×");
  EXPECT_EQ(TypographicNumber("gpt-175b leaf0->spine1 8x7b"), "gpt-175b leaf0-&gt;spine1 8x7b");
}

}  // namespace
}  // namespace fairlead::report
