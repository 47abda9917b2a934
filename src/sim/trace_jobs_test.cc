#include "sim/trace_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "base/temporary_folder.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const collective::ModelProfiles& Profiles() {
  static const collective::ModelProfiles kProfiles = collective::ModelProfiles::BuiltIn();
  return kProfiles;
}

// 4 hosts of 8 GPUs.
topology::Fabric SmallFabric() {
  const auto scenario = ParseScenario(R"(title: fabric
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2}
jobs: [{name: a, gpus: 1, compute_s: 1}]
simulate_s: 1
)",
                                      "fabric.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  return scenario->fabric;
}

trace::TraceJob Job(const std::string& id, uint32_t gpus, const std::string& model = "") {
  return {
      .id = id, .submit_s = 10, .duration_s = 60, .gpus = gpus, .gpus_per_host = std::min(gpus, 8u), .model = model};
}

TraceMapping Mapping() {
  return {.models = {{"llama", "llama-7b"}},
          .spread = {{.max_gpus = 8, .models = {"resnet-50"}},
                     {.max_gpus = UINT32_MAX, .models = {"gpt-7b", "bert-large"}}}};
}

std::vector<std::string> ModelsOf(const TraceJobs& jobs) {
  std::vector<std::string> models;
  for (const ScenarioJob& entry : jobs.jobs) models.push_back(entry.job.model_profile);
  return models;
}

TEST(MapTraceJobsTest, LabelsThenSizesDecideTheModel) {
  const auto jobs = MapTraceJobs({Job("a", 16, "llama"), Job("b", 8), Job("c", 1, "unheard-of")}, Mapping(), Profiles(),
                                 SmallFabric());
  ASSERT_TRUE(jobs.ok()) << jobs.status().message();
  EXPECT_EQ(ModelsOf(*jobs), (std::vector<std::string>{"llama-7b", "resnet-50", "resnet-50"}));
}

TEST(MapTraceJobsTest, TimesAreTheTraces) {
  const auto jobs = MapTraceJobs({Job("a", 16)}, Mapping(), Profiles(), SmallFabric()).value();
  EXPECT_EQ(jobs.jobs[0].job.id, JobId(0u));
  EXPECT_EQ(jobs.jobs[0].job.arrival, SimTime::FromSeconds(Seconds(10)));
  EXPECT_EQ(jobs.jobs[0].job.hold_time, SimDuration::FromSeconds(Seconds(60)));
  EXPECT_GT(jobs.jobs[0].job.network_share, 0);
  EXPECT_LT(jobs.jobs[0].job.network_share, 1);
}

// The draw is by name: it stays when jobs before it come or go, changes with the seed, and takes all models in the end.
TEST(MapTraceJobsTest, TheDrawDependsOnNameAndSeedOnly) {
  std::vector<trace::TraceJob> trace;
  trace.reserve(64);
  for (int i = 0; i < 64; ++i) trace.push_back(Job("job" + std::to_string(i), 16));
  const topology::Fabric fabric = SmallFabric();
  const auto all = ModelsOf(MapTraceJobs(trace, Mapping(), Profiles(), fabric).value());
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 2u);
  const auto tail = ModelsOf(MapTraceJobs({trace.begin() + 10, trace.end()}, Mapping(), Profiles(), fabric).value());
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), all.begin() + 10));
  TraceMapping other = Mapping();
  other.seed = 2;
  EXPECT_NE(ModelsOf(MapTraceJobs(trace, other, Profiles(), fabric).value()), all);
}

TEST(MapTraceJobsTest, WhatCanNotRunIsLeftOutAndCounted) {
  trace::TraceJob short_job = Job("short", 8);
  short_job.duration_s = 0;
  trace::TraceJob wide = Job("wide", 16);
  wide.gpus_per_host = 16;
  const auto jobs = MapTraceJobs({Job("cpu", 0), short_job, Job("large", 40), wide, Job("good", 8)}, Mapping(),
                                 Profiles(), SmallFabric())
                        .value();
  ASSERT_EQ(jobs.jobs.size(), 1u);
  EXPECT_EQ(jobs.jobs[0].job.name, "good");
  EXPECT_EQ(jobs.jobs[0].job.id, JobId(0u));
  EXPECT_THAT(jobs.notes, ElementsAre(HasSubstr("1 jobs of the trace are simulated"), HasSubstr("use no GPU"),
                                      HasSubstr("end at the instant"), HasSubstr("2 jobs of the trace are left out")));
}

TEST(MapTraceJobsTest, UnknownProfilesAndNoCatchAllAreErrors) {
  TraceMapping unknown = Mapping();
  unknown.models["x"] = "no-such-model";
  EXPECT_THAT(MapTraceJobs({}, unknown, Profiles(), SmallFabric()).status().message(), HasSubstr("no-such-model"));
  TraceMapping partial = Mapping();
  partial.spread.pop_back();
  EXPECT_THAT(MapTraceJobs({}, partial, Profiles(), SmallFabric()).status().message(), HasSubstr("without max_gpus"));
}

constexpr char kTraceScenario[] = R"(title: a trace
fabric: {kind: clos2, leaves: 4, hosts_per_leaf: 2, spines: 2}
trace:
  file: FILE
  window: {from_s: 100, to_s: 200}
  models: [{label: llama, model: llama-7b}]
  spread: [{max_gpus: 8, models: [resnet-50]}, {models: [bert-large]}]
policies: [ecmp, crux]
seeds: 1
)";

class TraceScenarioTest : public ::testing::Test {
 protected:
  TraceScenarioTest() {
    std::ofstream file(path_);
    file << "job_id,submit_s,duration_s,gpus,gpus_per_host,model\n"
            "early,0,1000,8,8,\n"
            "a,100,50,16,8,llama\n"
            "b,120,80,32,8,\n"
            "c,130,10.5,8,8,\n"
            "late,200,10,8,8,\n";
  }

  Result<Scenario> Parse(const std::string& from = "", const std::string& to = "") const {
    std::string text = kTraceScenario;
    text.replace(text.find("FILE"), 4, path_);
    if (!from.empty()) {
      const size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      text.replace(at, from.size(), to);
    }
    return ParseScenario(text, "s.yaml", {});
  }

 private:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("trace_jobs_test.csv");
};

TEST_F(TraceScenarioTest, TheWindowCutsTheTraceAndSetsTheClock) {
  const auto scenario = Parse();
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  ASSERT_EQ(scenario->jobs.size(), 3u);
  EXPECT_EQ(scenario->jobs[0].job.name, "a");
  EXPECT_EQ(scenario->jobs[0].job.arrival, SimTime());
  EXPECT_EQ(scenario->jobs[2].job.arrival, SimTime::FromSeconds(Seconds(30)));
  EXPECT_EQ(scenario->simulation.end, SimTime::FromSeconds(Seconds(100)));
  EXPECT_TRUE(scenario->simulation.extrapolate);
}

// Holding times are the trace's under every policy, so that all see the same cluster.
TEST_F(TraceScenarioTest, JobsHoldTheirGpusForTheRecordedTimeUnderEveryPolicy) {
  const auto scenario = Parse();
  ASSERT_TRUE(scenario.ok());
  const std::atomic<bool> never = false;
  const auto report = RunScenario(*scenario, {.num_threads = 1}, never, nullptr);
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->runs.size(), 2u);
  for (const RunResult& run : report->runs) {
    ASSERT_EQ(run.jobs.size(), 3u);
    EXPECT_DOUBLE_EQ(run.jobs[0].end_s, 50);
    EXPECT_DOUBLE_EQ(run.jobs[2].end_s, 40.5);
    EXPECT_FALSE(run.jobs[1].iterations == 0);
  }
}

TEST_F(TraceScenarioTest, BadSectionsNameLineKeyExpectedAndFound) {
  struct BadSection {
    const char* from;
    const char* to;
    const char* message;
  };
  const BadSection cases[] = {
      {"  window: {from_s: 100, to_s: 200}", "  window: {from_s: 200, to_s: 100}",
       "to_s: expected an end after from_s"},
      {"  window: {from_s: 100, to_s: 200}", "  window: {from_s: 200}", "to_s"},
      {"  window:", "  generate: {profile: lingjun-2023}\n  window:", "exactly one of the keys generate and file"},
      {"trace_jobs_test.csv", "no-such.csv", "no-such.csv"},
      {"[{max_gpus: 8, models: [resnet-50]}, {models: [bert-large]}]", "[{max_gpus: 8, models: [resnet-50]}]",
       "without max_gpus"},
      {"{max_gpus: 8, models: [resnet-50]}", "{models: [resnet-50]}", "expected ascending sizes"},
      {"models: [resnet-50]", "models: []", "expected at least one model"},
      {"models: [resnet-50]", "models: [no-such-model]", "no-such-model"},
      {"{label: llama, model: llama-7b}", "{label: llama, model: llama-7b}, {label: llama, model: gpt-7b}",
       "the label 'llama' appears twice"},
      {"policies:", "jobs: []\npolicies:", "exactly one of the keys jobs and trace"},
      {"policies:", "crux: {fairness: 2}\npolicies:", "crux.fairness: expected a number in [0, 1], found '2'"},
      {"policies:", "crux: {hysteresis: 0}\npolicies:", "unknown key 'hysteresis'"},
  };
  for (const BadSection& bad : cases) {
    const auto scenario = Parse(bad.from, bad.to);
    ASSERT_FALSE(scenario.ok()) << bad.to;
    EXPECT_THAT(scenario.status().message(), AllOf(HasSubstr("s.yaml"), HasSubstr(bad.message))) << bad.to;
  }
}

TEST_F(TraceScenarioTest, OptionsOfCruxAreRead) {
  const auto scenario = Parse("policies:",
                              "crux: {path_hysteresis: 0.1, max_moved_jobs: 5, level_hysteresis: 0.2, fairness: 0.3,\n"
                              "       starvation_guard_s: 4}\n"
                              "policies:");
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const traffic::crux::CruxOptions& crux = scenario->policy_options.crux;
  EXPECT_EQ(crux.paths.hysteresis, 0.1);
  EXPECT_EQ(crux.paths.max_moved_jobs, 5u);
  EXPECT_EQ(crux.level_hysteresis, 0.2);
  EXPECT_EQ(crux.fairness, 0.3);
  EXPECT_EQ(crux.starvation_guard.value(), 4);
}

}  // namespace
}  // namespace fairlead::sim
