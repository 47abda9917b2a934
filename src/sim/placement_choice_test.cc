// CASSINI's choice among placements in a cluster: closed forms on four racks, and when there is nothing to choose.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "sim/placement_record.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using testing::HasSubstr;

// Four racks of three hosts with one GPU, one spine, 25 GB/s everywhere. Each rack has one host for newcomers. `heavy`
// sends for 80 of 100 ms over the cables of racks 0 and 1, `light` for 50 over those of 2 and 3.
constexpr char kFourRacks[] = R"(title: four racks
fabric: {{kind: clos2, leaves: 4, hosts_per_leaf: 3, spines: 1, oversubscription: 3, host: {{gpus: 1, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}}}
policies: [cassini]
seeds: 1
goodput: 1
random_phase: false
simulate_s: 40
{}
jobs:
  - {{name: heavy, gpus: 2, gpus_per_host: 1, hosts: [h0, h3], compute_s: 0.02, size_mb: 2000{}}}
  - {{name: light, gpus: 2, gpus_per_host: 1, hosts: [h6, h9], compute_s: 0.05, size_mb: 1250}}
  - {{name: filler, gpus: 4, gpus_per_host: 1, hosts: [h1, h4, h7, h10], compute_s: 1}}
{})";
// As much as `light`.
constexpr char kNewcomer[] =
    "  - {name: newcomer, gpus: 2, gpus_per_host: 1, compute_s: 0.05, size_mb: 1250, arrival_s: 10}\n";
constexpr char kTenPlacements[] = "cassini: {placements: 10}\n";

std::string RacksText(const std::string& options, const std::string& heavy = "",
                      const std::string& newcomers = kNewcomer) {
  return fmt::format(kFourRacks, options, heavy, newcomers);
}

RunResult RunRacks(const std::string& text) {
  const Scenario scenario = ParseScenario(text, "s.yaml", {}).value();
  const std::atomic<bool> never = false;
  SimulationReport report = RunScenario(scenario, {.num_threads = 1}, never, nullptr).value();
  return std::move(report.runs.front());
}

TEST(PlacementChoiceTest, TheNewcomerTakesTurnsWithTheJobThatItFits) {
  // Locality takes the first two racks, where 80 and 50 ms of sending meet: 130 ms for an iteration of each.
  const RunResult alone = RunRacks(RacksText(""));
  EXPECT_FALSE(alone.placement_choices.has_value());
  EXPECT_NEAR(alone.jobs[3].iteration_s, 0.130, 1e-3);
  const RunResult chosen = RunRacks(RacksText(kTenPlacements));
  for (const size_t job : {0, 1, 3}) EXPECT_NEAR(chosen.jobs[job].iteration_s, 0.100, 1e-3) << chosen.jobs[job].name;
  const traffic::PlacementCounters& choices = chosen.placement_choices.value();
  EXPECT_EQ(choices.num_choices, 1u) << "the others name their hosts";
  EXPECT_EQ(choices.num_candidates, 6u) << "pairs of four racks";
  EXPECT_EQ(choices.num_changed, 1u);
  EXPECT_NEAR(choices.score, 1, 1e-9);
  // Four of the sixteen links of its two flows have 30 of 100 ms too much.
  EXPECT_NEAR(choices.first_score, 0.925, 1e-9);
}

TEST(PlacementChoiceTest, OneCandidateIsTheRunWithoutAChoice) {
  EXPECT_EQ(RunRacks(RacksText("cassini: {placements: 1}\n")).event_hash, RunRacks(RacksText("")).event_hash);
  EXPECT_NE(RunRacks(RacksText(kTenPlacements)).event_hash, RunRacks(RacksText("")).event_hash)
      << "a test that can fail";
}

TEST(PlacementChoiceTest, WhereAJobHasLeftThereIsRoom) {
  // 50 iterations of 100 ms: heavy has gone when the newcomer comes, and locality's choice is as good as any.
  const RunResult run = RunRacks(RacksText(kTenPlacements, ", iterations: 50"));
  EXPECT_EQ(run.placement_choices->num_changed, 0u);
  EXPECT_NEAR(run.placement_choices->first_score, 1, 1e-9);
  EXPECT_NEAR(run.jobs[3].iteration_s, 0.100, 1e-3);
}

TEST(PlacementChoiceTest, TheRestOfTheClusterIsNoChoice) {
  const RunResult run = RunRacks(
      RacksText(kTenPlacements, "", "  - {name: newcomer, gpus: 4, gpus_per_host: 1, compute_s: 0.05, size_mb: 9}\n"));
  EXPECT_EQ(run.placement_choices->num_choices, 0u);
  EXPECT_GT(run.jobs[3].iterations, 0);
}

TEST(PlacementChoiceTest, JobsOfOneInstantSeeEachOther) {
  // Racks of two hosts and jobs of three, which send 4/3 of 1500 MB over each cable of their racks: 80 of 100 ms. The
  // first fills one rack and half of another. Locality would put the second there, too: 160 ms for an iteration.
  const auto text = [](const std::string& options) {
    return "title: one instant\nfabric: {kind: clos2, leaves: 4, hosts_per_leaf: 2, spines: 1, oversubscription: 2, "
           "host: {gpus: 1, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}\npolicies: [cassini]\nseeds: 1\n"
           "goodput: 1\nrandom_phase: false\nsimulate_s: 40\n" +
           options + "jobs:\n  - {gpus: 3, gpus_per_host: 1, compute_s: 0.02, size_mb: 1500, count: 2}\n";
  };
  EXPECT_NEAR(RunRacks(text("")).jobs[1].iteration_s, 0.160, 1e-3);
  const RunResult run = RunRacks(text(kTenPlacements));
  EXPECT_EQ(run.placement_choices->num_choices, 2u);
  for (const size_t job : {0, 1}) EXPECT_NEAR(run.jobs[job].iteration_s, 0.100, 1e-6);
}

TEST(PlacementChoiceTest, WithoutAJobTheOthersStayWhereTheyWere) {
  // `heavy` made the newcomer go elsewhere. What the run would have been without it is asked of the same places.
  const Scenario scenario = ParseScenario(RacksText(kTenPlacements), "s.yaml", {}).value();
  const std::atomic<bool> never = false;
  std::vector<PlacementRecord> with, without, anew;
  ScenarioRunOptions options;
  options.placements = &with;
  ASSERT_TRUE(RunScenario(scenario, options, never, nullptr).ok());
  options.absent_jobs = {JobId(0)};
  options.placements = &anew;
  ASSERT_TRUE(RunScenario(scenario, options, never, nullptr).ok());
  options.known_placements = &with;
  options.placements = &without;
  const auto report = RunScenario(scenario, options, never, nullptr);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(without[0].at(JobId(3)), with[0].at(JobId(3)));
  EXPECT_NE(anew[0].at(JobId(3)), with[0].at(JobId(3)));
  EXPECT_EQ(report->runs[0].placement_choices->num_choices, 0u);
}

TEST(PlacementChoiceTest, SeedsDecideWhichAreOffered) {
  const std::string fabric =
      "title: seeds\nfabric: {kind: clos2, leaves: 8, hosts_per_leaf: 4, spines: 2, oversubscription: 4, host: {gpus: "
      "1, "
      "nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}\npolicies: [cassini]\nseeds: 1\nsimulate_s: "
      "20\ncassini: "
      "{placements: 3}\n";
  const std::string jobs = "jobs:\n  - {gpus: 5, gpus_per_host: 1, compute_s: 0.05, size_mb: 1250, count: 6}\n";
  for (const std::string placement : {"locality-first", "random"}) {
    const auto hash_of = [&](int seed) {
      return RunRacks(fabric + fmt::format("placement: {}\nplacement_seed: {}\n", placement, seed) + jobs).event_hash;
    };
    EXPECT_EQ(hash_of(1), hash_of(1));
    EXPECT_NE(hash_of(1), hash_of(2));
  }
}

TEST(PlacementChoiceTest, WhatCannotBeChosenIsRefused) {
  const auto error_of = [](const std::string& options) {
    return ParseScenario(RacksText(kTenPlacements + options), "s.yaml", {}).status().message();
  };
  EXPECT_THAT(error_of("placement: muri"),
              HasSubstr("cassini: expected placements: 1 with placement: muri, which has one "
                        "of each job; locality-first and random offer several"));
  EXPECT_THAT(error_of("profile_jobs: true"), HasSubstr("jobs are placed before they are known"));
  EXPECT_THAT(ParseScenario("title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1}\npolicies: "
                            "[ecmp, cassini]\ncassini: {placements: 2}\n"
                            "allocation: fcfs\njobs: [{gpus: 1, iterations: 3, compute_s: 1}]\n",
                            "s.yaml", {})
                  .status()
                  .message(),
              HasSubstr("expected placements: 1 beside allocation, which places jobs itself"));
  EXPECT_THAT(error_of("detail: agents"), HasSubstr("cassini"));
  // Policies that leave places alone may be combined with anything.
  EXPECT_TRUE(ParseScenario("title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1}\npolicies: "
                            "[ecmp]\ncassini: {placements: 2}\nplacement: "
                            "muri\njobs: [{gpus: 1, iterations: 3, compute_s: 1}]\n",
                            "s.yaml", {})
                  .ok());
}

}  // namespace
}  // namespace fairlead::sim
