// Broken GPUs in the joint simulation: what they do to jobs, and diagnosis, steering and allocation in one loop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using ::testing::HasSubstr;

// One job of 1,000 s of computing on 16 of 24 GPUs, without a network to speak of: all times follow by hand.
constexpr char kOneJob[] = R"(title: health
fabric: {kind: clos2, leaves: 3, hosts_per_leaf: 1, spines: 2, host: {gpus: 8}}
allocation: [fcfs]
policies: [ecmp]
seeds: 1
random_phase: false
simulate_s: 40000
jobs:
  - {name: a, gpus: 16, iterations: 1000, compute_s: 1, size_mb: 1, restart_s: 30}
)";

RunResult RunOne(const std::string& text) {
  auto scenario = ParseScenario(text, "s.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  auto report = RunScenario(*scenario, {.num_threads = 1}, never, nullptr);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return std::move(report->runs.front());
}

std::string With(const std::string& more) { return kOneJob + more; }

// Without a fault the job ends after 30 s of start and 1,000 s of training.
TEST(HostHealthTest, AnOperatorsEventsMoveJobs) {
  EXPECT_NEAR(RunOne(kOneJob).jobs[0].end_s, 1030, 1);
  // It leaves the host that goes down at 500 s, and does 530 more iterations on the third one, after a restart.
  const RunResult down = RunOne(With("host_events: [{at_s: 500, host: h0, state: down}]\n"));
  EXPECT_EQ(down.jobs[0].allocation->num_restarts, 1u);
  EXPECT_NEAR(down.jobs[0].end_s, 1030 + 30, 2);
  // One that drains keeps it.
  const RunResult draining = RunOne(With("host_events: [{at_s: 500, host: h0, state: draining}]\n"));
  EXPECT_EQ(draining.jobs[0].allocation->num_restarts, 0u);
  EXPECT_NEAR(draining.jobs[0].end_s, 1030, 1);
}

// Hangs at 800 s, 770 iterations done, the last checkpoint at 630 s. It fails after the time-out at 2600 s and hangs
// again at once, as nobody knows which host it is, until people have found it 3000 s after the first failure.
TEST(HostHealthTest, WithoutDiagnosisAJobHangsUntilPeopleFindTheHost) {
  const RunResult run =
      RunOne(With("host_faults: [{at_s: 800, host: h0, kind: gpu_hang}]\n"
                  "health: {search_s: 3000, repair_s: 100000}\n"));
  ASSERT_TRUE(run.health.has_value());
  const FaultResult& fault = run.health->faults.at(0);
  EXPECT_EQ(fault.hit_s, 800);
  EXPECT_LT(fault.found_s, 0);
  EXPECT_NEAR(fault.isolated_s, 2600 + 3000, 1);
  EXPECT_NEAR(fault.resumed_s, 5600 + 30, 1);
  EXPECT_EQ(run.health->num_failures, 2u);  // the second at 2600 + 30 + 1800 s
  // From the checkpoint, 600 iterations, on.
  EXPECT_NEAR(run.jobs[0].end_s, 5630 + 400, 3);
  EXPECT_NEAR(run.health->repeated_gpu_s, 16 * 170, 16 * 3);
  EXPECT_NEAR(run.jobs[0].iterations, 1000, 1e-6);
  EXPECT_TRUE(run.jobs[0].finished);
}

// A process that dies is noticed by the launcher after ten seconds, and dies again wherever the host takes part.
TEST(HostHealthTest, WithoutDiagnosisAJobCrashesAgainAndAgain) {
  const RunResult run =
      RunOne(With("host_faults: [{at_s: 800, host: h1, gpu: 3, kind: gpu_memory_error}]\n"
                  "health: {search_s: 390, repair_s: 100000}\n"));
  // Every 30 s of restart and 10 s of the launcher, from 810 s on, until the host is found at 1200 s.
  EXPECT_NEAR(run.health->faults.at(0).isolated_s, 810 + 390, 1);
  EXPECT_NEAR(run.health->num_failures, 1 + 390 / 40, 1);
  EXPECT_NEAR(run.jobs[0].end_s, 1200 + 30 + 400, 3);
}

// Twice as long for each iteration from 530 s on, and nobody notices: 500 + 2 x 500 s.
TEST(HostHealthTest, WithoutDiagnosisASlowGpuSlowsItsJobToTheEnd) {
  const RunResult run =
      RunOne(With("host_faults: [{at_s: 530, host: h0, kind: slow_gpu, magnitude: 2}]\nhealth: {search_s: 1}\n"));
  EXPECT_NEAR(run.jobs[0].end_s, 30 + 500 + 1000, 4);
  EXPECT_LT(run.health->faults.at(0).isolated_s, 0);
  EXPECT_NEAR(run.health->slowed_gpu_s, 16 * 500, 16 * 4);
}

// The loop: C4D names the host, steering isolates it, the allocator moves the job, the host is repaired and comes back.
TEST(HostHealthTest, C4dFindsTheHostAndTheAllocatorLeavesIt) {
  for (const std::string kind : {"gpu_hang", "gpu_memory_error", "slow_gpu, magnitude: 2"}) {
    SCOPED_TRACE(kind);
    const RunResult run = RunOne(With("host_faults: [{at_s: 650, host: h1, gpu: 2, kind: " + kind +
                                      "}]\nhealth: {diagnosis: c4d, repair_s: 200}\n"));
    const FaultResult& fault = run.health->faults.at(0);
    EXPECT_GT(fault.found_s, 650);
    EXPECT_LT(fault.found_s, 650 + 120);
    EXPECT_NEAR(fault.isolated_s, fault.found_s + 10, 1);
    // The launcher may be faster than isolation; the host gets no job while that is under way.
    EXPECT_GE(fault.resumed_s, std::min(fault.isolated_s, 650.0 + 10) + 30);
    EXPECT_LT(fault.resumed_s, fault.isolated_s + 60);
    EXPECT_NEAR(fault.back_s, fault.isolated_s + 200 + 10, 2);
    EXPECT_EQ(run.health->num_isolations, 1u);
    EXPECT_EQ(run.health->num_wrong_isolations, 0u);
    EXPECT_TRUE(run.jobs[0].finished);
    EXPECT_NEAR(run.health->away_gpu_s, 8 * (fault.back_s - fault.isolated_s), 1);
  }
}

// Steering's limits hold here, too: of two hosts of a small cluster one may be isolated within a day.
TEST(HostHealthTest, LimitsOfSteeringHold) {
  const std::string faults =
      "host_faults: [{at_s: 650, host: h0, kind: gpu_hang}, {at_s: 1500, host: h1, kind: gpu_hang}]\n";
  std::string text = With(faults);
  text.replace(text.find("iterations: 1000"), 16, "iterations: 3000");
  const RunResult strict = RunOne(text + "health: {diagnosis: c4d, repair_s: 300, search_s: 5000}\n");
  EXPECT_GE(strict.health->faults[1].found_s, 1500);
  // People are told by the finding: time-out and 600 s.
  EXPECT_NEAR(strict.health->faults[1].isolated_s, 1500 + 1800 + 600, 60);
}

TEST(HostHealthTest, SameSeedSameHistory) {
  const std::string text =
      With("host_faults: [{at_s: 650, host: h1, kind: slow_gpu, magnitude: 1.5}]\nhealth: {diagnosis: c4d}\n");
  EXPECT_EQ(RunOne(text).event_hash, RunOne(text).event_hash);
}

TEST(HostHealthTest, BadInputNamesLineKeyAndWhatToDo) {
  struct Bad {
    std::string text;
    const char* message;
  };
  const Bad cases[] = {
      {With("host_faults: [{at_s: 1, host: h9}]\n"), "host_faults[0].host: there is no host 'h9'"},
      {With("host_faults: [{at_s: 1, host: h0, gpu: 8}]\n"), "expected one of the host's 8 GPUs"},
      {With("host_faults: [{at_s: 1, host: h0, kind: slow_gpu}]\n"), "above 1 for a slow_gpu"},
      {With("host_faults: [{at_s: 1, host: h0, kind: fire}]\n"), "kind: expected one of"},
      {With("host_events: [{at_s: 1, host: h0, state: tired}]\n"), "state: expected one of"},
      {"title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 1, spines: 1}\njobs: [{gpus: 8, compute_s: "
       "1}]\nhost_events: [{at_s: 1, host: h0, state: "
       "up}]\n",
       "matters only where the scenario has the key allocation"},
  };
  for (const Bad& bad : cases) {
    const auto scenario = ParseScenario(bad.text, "s.yaml", {});
    ASSERT_FALSE(scenario.ok()) << bad.message;
    EXPECT_THAT(std::string(scenario.status().message()), HasSubstr(bad.message));
  }
}

}  // namespace
}  // namespace fairlead::sim
