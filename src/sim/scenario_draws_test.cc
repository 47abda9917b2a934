// Draws: which seeds they have, and that a scenario's runs use them.
#include "sim/scenario_draws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Jobs with drawn hosts, on a fabric where neighbourhood matters.
Scenario DrawnScenario() {
  const auto scenario = ParseScenario(
      "title: draws\n"
      "fabric: {kind: clos2, hosts_per_leaf: 4, leaves: 4, spines: 4, oversubscription: 2, host: {gpus: 8, nics: 4}}\n"
      "placement: random\n"
      "placement_seed: 40\n"
      "phase_seed: 50\n"
      "seed: 60\n"
      "seeds: 3\n"
      "policies: [ecmp, crux]\n"
      "simulate_s: 20\n"
      "jobs:\n"
      "  - {name: a, gpus: 24, compute_s: 0.2, size_mb: 8000, collective: ring-all-reduce, count: 5}\n",
      "draws.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  return *scenario;
}

SimulationReport Simulate(const Scenario& scenario) {
  const std::atomic<bool> never = false;
  return RunScenario(scenario, {}, never, nullptr).value();
}

TEST(ScenarioDrawsTest, DrawZeroHasTheSeedsOfTheScenario) {
  const DrawSeeds seeds = SeedsOfDraw({7, 8, 9}, {}, 0);
  EXPECT_EQ(seeds.hash, 7u);
  EXPECT_EQ(seeds.phase, 8u);
  EXPECT_EQ(seeds.placement, 9u);
}

TEST(ScenarioDrawsTest, OnlyWhatVariesMoves) {
  const DrawSeeds seeds = SeedsOfDraw({7, 8, 9}, {.hash = false, .phase = true, .placement = false}, 2);
  EXPECT_EQ(seeds.hash, 7u);
  EXPECT_EQ(seeds.phase, 10u);
  EXPECT_EQ(seeds.placement, 9u);
}

TEST(ScenarioDrawsTest, NamesAreReadAndChecked) {
  EXPECT_THAT(VariedSeeds().Names(), ElementsAre("hash", "phase", "placement"));
  EXPECT_THAT(ParseVariedSeeds({"placement", "hash"})->Names(), ElementsAre("hash", "placement"));
  EXPECT_THAT(ParseVariedSeeds({"hosts"}).status().message(), HasSubstr("'hosts' cannot vary between draws"));
  EXPECT_THAT(ParseVariedSeeds({"hash", "hash"}).status().message(), HasSubstr("appears twice"));
  EXPECT_FALSE(ParseVariedSeeds({}).ok());
}

TEST(ScenarioDrawsTest, RunsHaveTheSameDrawsUnderEveryPolicy) {
  const SimulationReport report = Simulate(DrawnScenario());
  ASSERT_EQ(report.runs.size(), 6u);
  EXPECT_THAT(report.varied, ElementsAre("hash", "phase", "placement"));
  for (uint32_t i = 0; i < 6; ++i) {
    const RunResult& run = report.runs[i];
    EXPECT_EQ(run.draw, i % 3);
    EXPECT_EQ(run.placement_seed, 40 + i % 3);
    EXPECT_EQ(run.phase_seed, 50 + i % 3);
    EXPECT_EQ(run.seed, 60 + i % 3);
  }
}

TEST(ScenarioDrawsTest, EachSeedMatters) {
  // Alone, each of the three makes runs of one policy differ; with none of them moved they could not.
  for (const std::string& name : VariedSeeds().Names()) {
    Scenario scenario = DrawnScenario();
    scenario.policies = {"ecmp"};
    scenario.varied = ParseVariedSeeds({name}).value();
    std::set<uint64_t> hashes;
    for (const RunResult& run : Simulate(scenario).runs) hashes.insert(run.event_hash);
    EXPECT_GT(hashes.size(), 1u) << name;
  }
}

TEST(ScenarioDrawsTest, AScenarioNamesWhatVaries) {
  const auto scenario = ParseScenario(
      "title: t\nfabric: {kind: clos2, hosts_per_leaf: 1, leaves: 2, spines: 1}\nvary: [phase, hosts]\n"
      "jobs:\n  - {name: a, gpus: 8, compute_s: 1}\n",
      "t.yaml", {});
  EXPECT_THAT(scenario.status().message(), HasSubstr("vary: expected one of hash, phase, placement, found 'hosts'"));
}

}  // namespace
}  // namespace fairlead::sim
