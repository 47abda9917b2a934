#include "report/json_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/report_test_data.h"

namespace fairlead::report {
namespace {

using testing::HasSubstr;

std::vector<std::string> KeysOf(const Json& json, size_t count) {
  std::vector<std::string> keys;
  for (const auto& item : json.items()) {
    if (keys.size() < count) keys.push_back(item.key());
  }
  return keys;
}

TEST(JsonReportTest, PromisedKeysComeFirstAndHaveTheirTypes) {
  const Json json = Json::parse(RenderJson(MakeSmallReport()));
  EXPECT_EQ(KeysOf(json, 3), (std::vector<std::string>{"scenario", "version", "runs"}));
  ASSERT_EQ(json["runs"].size(), 4u);
  const Json& run = json["runs"][2];
  EXPECT_EQ(KeysOf(run, 11),
            (std::vector<std::string>{"policy", "seed", "event_hash", "partial", "simulated_s", "wall_s", "peak_rss_mb",
                                      "fast_forward_fraction", "gpu_utilization", "jobs", "links"}));
  EXPECT_EQ(run["policy"], "crux");
  EXPECT_EQ(run["seed"], 1);
  EXPECT_EQ(run["event_hash"], "0000000000c0ffee");
  EXPECT_EQ(run["partial"], false);
  EXPECT_EQ(run["simulated_s"], 3600.0);
  EXPECT_EQ(run["fast_forward_fraction"], 0.75);
  EXPECT_EQ(run["gpu_utilization"], (Json{{"busy", 0.7}, {"flop_weighted", 0.35}, {"vs_ideal", 0.7 / 0.8}}));

  const Json& job = run["jobs"][1];
  EXPECT_EQ(KeysOf(job, 8), (std::vector<std::string>{"id", "gpus", "iterations", "iteration_s", "slowdown", "jct_s",
                                                      "level", "bounding_link"}));
  EXPECT_EQ(job["id"], 1);
  EXPECT_EQ(job["gpus"], 8);
  EXPECT_EQ(job["slowdown"], 1.6);
  EXPECT_EQ(job["level"], 1);
  EXPECT_EQ(job["bounding_link"], "leaf0->spine0");
  EXPECT_TRUE(job["jct_s"].is_null());
  EXPECT_TRUE(run["jobs"][0]["bounding_link"].is_null());

  EXPECT_EQ(KeysOf(run["links"][0], 3), (std::vector<std::string>{"id", "tier", "utilization"}));
  EXPECT_EQ(run["links"][0]["id"], 6);
  EXPECT_EQ(run["links"][0]["tier"], "leaf-spine");
  EXPECT_EQ(run["links"][0]["utilization"], 0.5);
  // small loses 720 of its 1,350 s to big, 8 GPUs each: 1.6 of 3 GPU-hours.
  EXPECT_EQ(job["state"], "ran");
  EXPECT_EQ(job["work"], 2250.0);
  EXPECT_EQ(job["slowdown_is_bound"], false);
  EXPECT_EQ(job["lost_gpu_hours"], 3.0);
  EXPECT_EQ(job["lost_to"][0],
            (Json{{"kind", "level"}, {"job", 0}, {"link", "leaf0->spine0"}, {"gpu_hours", 1.6}, {"lost_s", 720.0}}));
  EXPECT_EQ(job["lost_to"][1]["kind"], "not_attributed");
  EXPECT_TRUE(job["lost_to"][1]["job"].is_null());
  EXPECT_TRUE(job["lost_to"][1]["link"].is_null());
  EXPECT_EQ(run["draw"], 0);
  EXPECT_EQ(run["phase_seed"], 1);
  EXPECT_EQ(run["placement_seed"], 1);
  EXPECT_EQ(run["mean_slowdown"], 1.3);
  EXPECT_EQ(run["worst_slowdown"], 1.6);
  EXPECT_TRUE(run["p99_slowdown"].is_null());
}

TEST(JsonReportTest, JctCountsFromArrival) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs[0].jobs[0].finished = true;
  report.runs[0].jobs[0].arrival_s = 100;
  report.runs[0].jobs[0].end_s = 350;
  report.runs[0].jobs[1].start_s = -1;
  report.runs[0].jobs[1].condition = sim::JobCondition::kNeverStarted;
  report.runs[0].jobs[1].slowdown = 0;
  const Json jobs = ToJson(report)["runs"][0]["jobs"];
  EXPECT_EQ(jobs[0]["jct_s"], 250.0);
  EXPECT_TRUE(jobs[1]["start_s"].is_null());
  EXPECT_TRUE(jobs[1]["slowdown"].is_null());
  EXPECT_EQ(jobs[1]["state"], "never_started");
}

TEST(JsonReportTest, UnknownNumbersAreNull) {
  sim::SimulationReport report = MakeSmallReport();
  for (sim::RunResult& run : report.runs) {
    run.busy = std::nan("");
    run.wall_s = std::numeric_limits<double>::infinity();
    run.gpu_hours_lost = std::nan("");
    run.mean_slowdown = std::nan("");
    run.jobs[0].iteration_s = std::nan("");
    run.jobs[0].slowdown = -std::numeric_limits<double>::infinity();
    run.jobs[1].lost_to[0].lost_s = std::nan("");
    run.timeline.gpu_busy[1] = std::nan("");
    run.links[0].utilization_over_time = {0.1f, std::numeric_limits<float>::quiet_NaN()};
  }
  const std::string text = RenderJson(report);
  const Json json = Json::parse(text);  // NaN and Infinity are no JSON
  EXPECT_TRUE(json["runs"][0]["gpu_utilization"]["busy"].is_null());
  EXPECT_TRUE(json["runs"][0]["wall_s"].is_null());
  EXPECT_TRUE(json["runs"][0]["timeline"]["gpu_busy"][1].is_null());
  EXPECT_EQ(json["runs"][0]["links"][0]["utilization_over_time"], (Json{0.1, nullptr}));
  EXPECT_THAT(text, HasSubstr("0.1,"));  // not 0.10000000149
}

TEST(JsonReportTest, NamesOfAnyBytesGiveValidJson) {
  sim::SimulationReport report = MakeSmallReport();
  report.scenario = "\"quoted\" \\ \x01 \xff end";
  const Json json = Json::parse(RenderJson(report));
  EXPECT_EQ(json["scenario"], "\"quoted\" \\ \x01 � end");
}

TEST(JsonReportTest, FailedRunsHaveTheirOwnList) {
  sim::SimulationReport report = MakeSmallReport();
  EXPECT_EQ(ToJson(report)["failed_runs"], Json::array());
  report.failed_runs = {{"fcfs+crux", 2, 3, "check failed: a < b", "fairlead sim run s.yaml"}};
  EXPECT_EQ(ToJson(report)["failed_runs"], (Json{{{"policy", "fcfs+crux"},
                                                  {"draw", 2},
                                                  {"seed", 3},
                                                  {"message", "check failed: a < b"},
                                                  {"reproduce", "fairlead sim run s.yaml"}}}));
}

TEST(JsonReportTest, NoRuns) {
  const Json json = Json::parse(RenderJson({}));
  EXPECT_EQ(json["runs"], Json::array());
  EXPECT_EQ(json["comparison"], Json::array());
}

TEST(JsonReportTest, SameReportSameText) {
  const sim::SimulationReport report = MakeTestReport({.num_jobs = 20, .num_leaves = 6, .num_spines = 3});
  EXPECT_EQ(RenderJson(report), RenderJson(report));
}

TEST(JsonReportTest, SummaryAndComparison) {
  const Json json = ToJson(MakeSmallReport());
  EXPECT_NEAR(json["summary"][0]["gpu_utilization"]["busy"]["mean"].get<double>(), 0.62, 1e-12);
  EXPECT_EQ(json["summary"][0]["gpu_utilization"]["busy"]["runs"], 2);
  ASSERT_EQ(json["comparison"].size(), 6u);
  const Json& busy = json["comparison"][0];
  EXPECT_EQ(busy["policy"], "crux");
  EXPECT_EQ(busy["against"], "ecmp");
  EXPECT_EQ(busy["goal"], "busy");
  EXPECT_NEAR(busy["difference"].get<double>(), 0.09, 1e-12);
  EXPECT_LT(busy["low"].get<double>(), 0);
  EXPECT_EQ(busy["verdict"], "no difference");
  EXPECT_EQ(json["comparison"][3]["goal"], "worst_slowdown");
  EXPECT_EQ(json["comparison"][3]["verdict"], "worse");
  EXPECT_NEAR(json["trades"][0]["gpu_hours_won_per_day"]["mean"].get<double>(), 120, 1e-9);
  EXPECT_EQ(json["vary"], (Json{"hash", "phase", "placement"}));
}

TEST(JsonReportTest, DoubtsAboutTheInputAreNotes) {
  sim::SimulationReport report = MakeSmallReport();
  report.doubts = {"odd"};
  EXPECT_EQ(ToJson(report)["notes"], (Json{"Nothing is assumed.", "odd"}));
}

TEST(JsonReportTest, OneDrawHasNoInterval) {
  sim::SimulationReport report = MakeSmallReport();
  report.runs.erase(report.runs.begin() + 3);
  report.runs.erase(report.runs.begin() + 1);
  const Json busy = ToJson(report)["comparison"][0];
  EXPECT_NEAR(busy["difference"].get<double>(), 0.1, 1e-12);
  EXPECT_TRUE(busy["low"].is_null());
  EXPECT_TRUE(busy["high"].is_null());
  EXPECT_EQ(busy["verdict"], "one draw");
  EXPECT_TRUE(ToJson(report)["summary"][0]["gpu_utilization"]["busy"]["low"].is_null());
}

}  // namespace
}  // namespace fairlead::report
