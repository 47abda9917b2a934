// Workers that migrate (scenario_migration.h): two jobs that meet on an uplink are moved apart, by closed forms.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/loss_cause.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using testing::HasSubstr;

// Two racks of four hosts with one GPU each, one spine, 25 GB/s everywhere. Eight small jobs fill h0 to h7; those of h0
// and h4 end after 1 s, when job a comes and takes both hosts, those of h1 and h5 after 2 s, which job b takes when it
// comes at 3.15 s. An iteration of a or b computes 0.1 s, then sends 5 GB each way: 0.2 s alone.
constexpr char kTornJobs[] = R"(title: torn jobs
fabric: {{kind: clos2, leaves: 2, hosts_per_leaf: 4, spines: 1, oversubscription: 4, host: {{gpus: 1, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1}}}}
policies: [ecmp]
seeds: 1
goodput: 1
random_phase: false
simulate_s: 60
{}
jobs:
  - {{name: first-0, gpus: 1, compute_s: 0.1, iterations: 10}}
  - {{name: second-0, gpus: 1, compute_s: 0.1, iterations: 20}}
  - {{name: filler-0, gpus: 1, count: 2, compute_s: 0.1}}
  - {{name: first-1, gpus: 1, compute_s: 0.1, iterations: 10}}
  - {{name: second-1, gpus: 1, compute_s: 0.1, iterations: 20}}
  - {{name: filler-1, gpus: 1, count: 2, compute_s: 0.1}}
  - {{name: a, gpus: 2, gpus_per_host: 1, compute_s: 0.1, size_mb: 5000, arrival_s: 1, iterations: 47}}
  - {{name: b, gpus: 2, gpus_per_host: 1, compute_s: 0.1, size_mb: 5000, arrival_s: 3.15, iterations: 50}}
)";

class MigrationSimulationTest : public testing::Test {
 protected:
  static constexpr size_t kA = 8;
  static constexpr size_t kB = 9;

  static RunResult Run(const std::string& options) {
    const Scenario scenario = ParseScenario(fmt::format(kTornJobs, options), "s.yaml", {}).value();
    const std::atomic<bool> never = false;
    SimulationReport report = RunScenario(scenario, {.num_threads = 1}, never, nullptr).value();
    return std::move(report.runs.front());
  }
  static std::string Error(const std::string& options) {
    return ParseScenario(fmt::format(kTornJobs, options), "s.yaml", {}).status().message();
  }
  static double LostToRestart(const JobResult& job) {
    double lost_s = 0;
    for (const LossResult& loss : job.lost_to) lost_s += loss.cause == LossCause::kRestart ? loss.lost_s : 0;
    return lost_s;
  }
};

// While both run, 0.4 s of bytes go over the uplink for an iteration of each.
TEST_F(MigrationSimulationTest, WithoutItBothJobsAreSlow) {
  const RunResult run = Run("");
  EXPECT_GE(run.jobs[kB].slowdown, 4.0 / 3 - 0.01);
  EXPECT_FALSE(run.migration.has_value());
}

// Jobs that stand still write nothing: one checkpoint before the move at 3.15 s, the next ones 2 s after the job trains
// again, at 10.28 s, until it ends at 22.28 s.
TEST_F(MigrationSimulationTest, CheckpointsGoOnFromTheNewHosts) {
  std::string text = fmt::format(kTornJobs, "storage: {hosts: [h4, h9]}\nmigration: {policy: monkey-tree}");
  const auto replace = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("hosts_per_leaf: 4", "hosts_per_leaf: 5");
  replace("oversubscription: 4", "oversubscription: 5");
  replace("arrival_s: 1, iterations: 47", "arrival_s: 1, iterations: 47, checkpoint_s: 2, checkpoint_mb: 10");
  const auto scenario = ParseScenario(text, "s.yaml", {});
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  const RunResult run = std::move(RunScenario(*scenario, {.num_threads = 1}, never, nullptr)->runs.front());
  EXPECT_EQ(run.migration->moved_jobs, 1u);
  ASSERT_EQ(run.background.size(), 1u);
  EXPECT_NEAR(static_cast<double>(run.background[0].num_messages), 6, 1);
  EXPECT_EQ(run.background[0].num_unfinished, 0u);
}

// At 3.15 s job a has done 7 iterations and is 0.05 s into the next one. Of its 2.5e9 parameters each worker has 20 GB,
// 0.8 s alone. They leave by the port of a host that is job b's now, whose flows have half of it while they last: in
// the 0.5 s of such an iteration of b 7.5 GB go, so that all are there after 1.3 s, and b has lost 0.5 s. 5.83 s later
// job a does the 40 iterations that are left in 12 s. Job b has not begun at 3.15 s, and starts in one rack.
TEST_F(MigrationSimulationTest, AMovedJobStandsStillForItsTransferAndRestart) {
  const RunResult run = Run("migration: {policy: monkey-tree}");
  const JobResult& a = run.jobs[kA];
  EXPECT_TRUE(a.finished);
  EXPECT_EQ(a.iterations, 47);
  EXPECT_NEAR(a.end_s, 3.15 + 1.3 + 5.83 + 12, 1e-6);
  EXPECT_NEAR(a.slowdown, 21.28 / 14.1, 1e-6);
  ASSERT_EQ(a.migrations->moves.size(), 1u);
  EXPECT_DOUBLE_EQ(a.migrations->moves[0].time_s, 3.15);
  EXPECT_EQ(a.migrations->moves[0].num_gpus, 1u);
  EXPECT_EQ(a.migrations->moves[0].reason, "1 of its 2 GPUs change hosts: a rack has more than 1 rings on its uplinks");
  EXPECT_NEAR(a.migrations->stopped_s, 1.3 + 5.83, 1e-6);
  EXPECT_NEAR(LostToRestart(a), 0.8 + 5.83 + 0.05, 1e-6);
  EXPECT_NEAR(a.lost_s, LostToRestart(a) + 0.5, 1e-6) << "of which b has cost it the rest";
  const JobResult& b = run.jobs[kB];
  EXPECT_NEAR(b.slowdown, 15.5 / 15, 1e-6);
  EXPECT_NEAR(b.end_s, 3.15 + 15.5, 1e-6);
  EXPECT_TRUE(b.migrations->moves.empty());
  ASSERT_TRUE(run.migration.has_value());
  EXPECT_EQ(run.migration->num_plans, 1u);
  EXPECT_EQ(run.migration->moved_jobs, 1u);
  EXPECT_EQ(run.migration->moved_gpus, 1u);
  EXPECT_EQ(run.migration->num_unrelieved, 0u);
  EXPECT_NEAR(run.migration->stopped_s, a.migrations->stopped_s, 1e-9);
  EXPECT_NEAR(run.migration->lost_gpu_hours, 2 * LostToRestart(a) / 3600, 1e-9);
}

// Twice the state: 37.5 GB in 2.5 s, and the rest while b computes; no restart.
TEST_F(MigrationSimulationTest, StateAndRestartAreOptions) {
  const RunResult run = Run("migration: {bytes_per_parameter: 32, restart_s: 0}");
  EXPECT_NEAR(run.jobs[kA].end_s, 3.15 + 2.6 + 12, 1e-6);
}

// As in the published simulations: only the iteration under way is lost.
TEST_F(MigrationSimulationTest, MigrationMayCostNothing) {
  const RunResult run = Run("migration: {policy: monkey-tree-exact, cost: published-simulation}");
  EXPECT_NEAR(run.jobs[kA].end_s, 3.15 + 12, 1e-6);
  EXPECT_EQ(run.jobs[kA].migrations->stopped_s, 0);
  EXPECT_NEAR(run.jobs[kA].lost_s, 0.05, 1e-6);
  EXPECT_EQ(run.jobs[kB].slowdown, 1);
}

// Two rings are within the bound: the run is that without migration, event for event.
TEST_F(MigrationSimulationTest, NothingMovesWithinTheBound) {
  const RunResult run = Run("migration: {max_rings: 2}");
  EXPECT_EQ(run.event_hash, Run("").event_hash);
  EXPECT_EQ(run.migration->moved_jobs, 0u);
}

// The run ends while the state is on the way, 0.5 s after the decision: nothing of it is work. Alone its 7.5 GB would
// have taken 0.3 s.
TEST_F(MigrationSimulationTest, ARunMayEndDuringATransfer) {
  const Scenario scenario = ParseScenario(fmt::format(kTornJobs, "migration: {}"), "s.yaml",
                                          {.topology_file = {}, .values = {"simulate_s=3.65"}})
                                .value();
  const std::atomic<bool> never = false;
  const SimulationReport report = RunScenario(scenario, {.num_threads = 1}, never, nullptr).value();
  const JobResult& a = report.runs.front().jobs[kA];
  EXPECT_EQ(a.work, 7);
  EXPECT_NEAR(a.migrations->stopped_s, 0.5, 1e-6);
  EXPECT_NEAR(a.lost_s, 0.55, 1e-6);
  EXPECT_NEAR(LostToRestart(a), 0.35, 1e-6);
}

TEST_F(MigrationSimulationTest, RefusesWhatCannotMigrate) {
  EXPECT_THAT(Error("migration: {}\nallocation: fcfs"), HasSubstr("expected none beside allocation"));
  EXPECT_THAT(Error("migration: {}\nprofile_jobs: true"), HasSubstr("expected none beside profile_jobs"));
  EXPECT_THAT(Error("migration: {}\ndetail: agents"), HasSubstr("expected none beside detail: agents"));
  EXPECT_THAT(Error("migration: {cost: published-simulation, restart_s: 1}"), HasSubstr("costs nothing"));
  EXPECT_THAT(Error("migration: {max_rings: 0}"), HasSubstr("max_rings"));
  const auto error_of = [](const std::string& fabric, const std::string& job) {
    return ParseScenario(fmt::format("title: t\nfabric: {}\nmigration: {{}}\njobs:\n  - {}\n", fabric, job), "s.yaml",
                         {})
        .status()
        .message();
  };
  const std::string racks = "{kind: clos2, leaves: 2, hosts_per_leaf: 4, spines: 1}";
  EXPECT_EQ(error_of(racks, "{gpus: 16, compute_s: 1}"), "");
  EXPECT_THAT(error_of("{kind: clos2, leaves: 1, hosts_per_leaf: 4, spines: 1}", "{gpus: 16, compute_s: 1}"),
              HasSubstr("expected a fabric of racks under spines; found 1 racks"));
  EXPECT_THAT(error_of(racks, "{gpus: 12, compute_s: 1}"), HasSubstr("whole hosts of 8 GPUs"));
  EXPECT_THAT(error_of(racks, "{gpus: 16, hosts: [h0, h1], compute_s: 1}"), HasSubstr("no hosts of its own"));
}

}  // namespace
}  // namespace fairlead::sim
