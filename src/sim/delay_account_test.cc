#include "sim/delay_account.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "sim/job_state.h"
#include "sim/random_scenario.h"
#include "sim/run_laws.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

SimulationReport RunText(const std::string& text) {
  auto scenario = ParseScenario(text, "test.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  return RunScenario(*scenario, {.num_threads = 1}, never, nullptr).value();
}

SimulationReport RunFile(const std::string& name, uint32_t num_seeds, std::vector<std::string> policies) {
  auto scenario = LoadScenario(FAIRLEAD_SOURCE_DIR "/scenarios/" + name, {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  scenario->num_seeds = num_seeds;
  scenario->policies = std::move(policies);
  const std::atomic<bool> never = false;
  return RunScenario(*scenario, {.num_threads = 2}, never, nullptr).value();
}

// Two jobs, each from a host of leaf 0 to one of leaf 1, over one uplink of 100 Gb/s.
std::string TwoJobs(const std::string& policies, const std::string& first, const std::string& second,
                    const std::string& more = "") {
  return "title: two\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1, uplink_gbps: 100, host: {gpus: 1, "
         "gpu_model: A100, sockets: 1, pcie_switches: 1, "
         "nics: 1, ports_per_nic: 1, port_gbps: 100, gpu_peak_tflops: 312, pcie_gigabytes_per_s: 64, "
         "nvlink_gigabytes_per_s: 300}}\npolicies: " +
         policies + "\nseeds: 1\nsimulate_s: 100\ngoodput: 1\n" + more + "jobs:\n" +
         "  - {name: a, gpus: 2, gpus_per_host: 1, hosts: [h0, h2], " + first +
         "}\n  - {name: b, gpus: 2, gpus_per_host: 1, hosts: [h1, h3], " + second + "}\n";
}

TEST(DelayAccountTest, AStarvedJobIsStalledAndCounts) {
  // Job a sends all the time. Job b comes second in the order of intensities, and after its compute never moves.
  const SimulationReport report =
      RunText(TwoJobs("[crux]", "compute_s: 0.5, size_mb: 12500, start_fraction: 0, work_tflop: 1000000",
                      "compute_s: 0.5, size_mb: 12500, start_fraction: 1, work_tflop: 1"));
  const RunResult& run = report.runs.front();
  EXPECT_EQ(FindBrokenAccount(run), "");
  EXPECT_EQ(run.jobs[0].condition, JobCondition::kRan);
  EXPECT_EQ(run.jobs[1].condition, JobCondition::kStalled);
  EXPECT_GT(run.jobs[1].stalled_s, 90);
  EXPECT_LT(run.jobs[1].work, 1);
  EXPECT_EQ(run.num_stalled, 1u);
  EXPECT_TRUE(run.slowdowns_are_bounds);
  EXPECT_GT(run.mean_slowdown, 20);
  ASSERT_FALSE(run.jobs[1].lost_to.empty());
  EXPECT_EQ(run.jobs[1].lost_to[0].cause, LossCause::kLevel);
  EXPECT_EQ(run.jobs[1].lost_to[0].culprit, JobId(0));
}

TEST(DelayAccountTest, FlowsOverSeveralPathsLoseToTheJobsThatTheyMeet) {
  // Each flow is halved over two uplinks of 50 Gb/s, which both jobs fill.
  const SimulationReport report = RunText(
      "title: two\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, uplink_gbps: 50, host: {gpus: 1, "
      "sockets: 1, pcie_switches: 1, nics: 1, ports_per_nic: 1, port_gbps: 100, nvlink_gigabytes_per_s: 300}}\n"
      "policies: [ethereal]\nseeds: 1\nsimulate_s: 100\njobs:\n"
      "  - {name: a, gpus: 2, gpus_per_host: 1, hosts: [h0, h2], compute_s: 0.1, size_mb: 12500, start_fraction: 1}\n"
      "  - {name: b, gpus: 2, gpus_per_host: 1, hosts: [h1, h3], compute_s: 0.2, size_mb: 12500, start_fraction: 1}\n");
  const RunResult& run = report.runs.front();
  EXPECT_EQ(FindBrokenAccount(run), "");
  for (const JobResult& job : run.jobs) {
    EXPECT_GT(job.slowdown, 1.5);
    ASSERT_FALSE(job.lost_to.empty());
    EXPECT_EQ(job.lost_to[0].cause, LossCause::kJob);
    EXPECT_NEAR(job.lost_to[0].lost_s, job.lost_s, 0.02 * job.lost_s);
  }
}

TEST(DelayAccountTest, APhaseThatGainsMakesUpForLaterLosses) {
  DelayAccount account;
  JobState job;
  job.id = JobId(3);
  job.num_gpus = 2;
  const auto record = [&](double lost_s) {
    job.delay_shares = {{LossCause::kJob, JobId(1), LinkId(7), 0.5}};
    account.RecordPhase(job, lost_s);
  };
  const auto lost_s = [&] { return account.losses.values().empty() ? 0 : account.losses.values().front().s; };
  record(-3);
  EXPECT_TRUE(account.losses.values().empty());
  record(2);
  EXPECT_DOUBLE_EQ(lost_s(), 0);
  record(2);
  EXPECT_DOUBLE_EQ(lost_s(), 1);
  account.AttributeMore(job, -4);  // no row falls below 0
  EXPECT_DOUBLE_EQ(lost_s(), 0);
  record(5);
  EXPECT_DOUBLE_EQ(lost_s(), 2);
}

TEST(DelayAccountTest, AHostCutOffForGoodIsCutOff) {
  const SimulationReport report =
      RunText(TwoJobs("[ecmp]", "compute_s: 0.5, size_mb: 1250", "compute_s: 0.5, size_mb: 1250",
                      "link_events:\n  - {at_s: 40, link: \"h3/nic0->leaf1\", health: 0}\n"));
  const RunResult& run = report.runs.front();
  EXPECT_EQ(FindBrokenAccount(run), "");
  EXPECT_EQ(run.jobs[0].condition, JobCondition::kRan);
  EXPECT_EQ(run.jobs[1].condition, JobCondition::kCutOff);
  EXPECT_GT(run.jobs[1].slowdown, 2);
  EXPECT_EQ(run.num_cut_off, 1u);
  EXPECT_EQ(run.jobs[1].lost_to[0].cause, LossCause::kCapacity);
  EXPECT_NEAR(run.jobs[1].lost_to[0].lost_s, 60, 2);
}

// The job sends nothing, and stays where it is.
void Silence(JobId job, Scenario* scenario) {
  std::get<collective::SimpleIterationSpec>(scenario->jobs[job.index()].work).size = Bytes(0);
}

// Jobs that cross one spine, each on hosts of two leaves.
Scenario CrowdedScenario(Random& random) {
  std::string text =
      "title: crowded\nfabric: {kind: clos2, leaves: 3, hosts_per_leaf: 5, spines: 1, uplink_gbps: 100, host: {gpus: "
      "1, nics: 1}}"
      "\npolicies: [ecmp]\nseeds: 1\nsimulate_s: 60\nphase_seed: " +
      std::to_string(random.Below(1000)) + "\njobs:\n";
  const uint64_t num_jobs = 2 + random.Below(4);
  for (uint64_t j = 0; j < num_jobs; ++j) {
    text += "  - {gpus: 2, gpus_per_host: 1, hosts: [h" + std::to_string(j) + ", h" +
            std::to_string(5 * (1 + random.Below(2)) + j) + "], name: j" + std::to_string(j) +
            ", compute_s: " + std::to_string(0.05 + random.Uniform()) +
            ", size_mb: " + std::to_string(500 + random.Below(6000)) +
            ", start_fraction: " + std::to_string(random.Uniform()) + "}\n";
  }
  auto scenario = ParseScenario(text, "crowded.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  return *std::move(scenario);
}

TEST(DelayAccountLawTest, WithoutABlamedJobItsVictimIsFaster) {
  int num_simulated = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    const Scenario scenario = CrowdedScenario(random);
    const std::atomic<bool> never = false;
    const RunResult run = RunScenario(scenario, {.num_threads = 1}, never, nullptr)->runs.front();
    EXPECT_EQ(FindBrokenAccount(run), "");
    for (const JobResult& job : run.jobs) {
      if (job.lost_to.empty() || job.lost_to.front().lost_s < 0.02 * job.held_s) continue;
      const LossResult& most = job.lost_to.front();
      ASSERT_EQ(most.cause, LossCause::kJob);
      Scenario without = scenario;
      Silence(most.culprit, &without);
      const RunResult other = RunScenario(without, {.num_threads = 1}, never, nullptr)->runs.front();
      EXPECT_LT(other.jobs[job.id.index()].lost_s, job.lost_s)
          << "seed " << seed << " job " << job.name << " without job " << most.culprit.value();
      ++num_simulated;
    }
  }
  EXPECT_GT(num_simulated, 150);
}

TEST(DelayAccountTest, RowsAddUpOnTheSnapshot) {
  const SimulationReport report = RunFile("lingjun-snapshot.yaml", 2, {"ecmp", "crux", "c4p", "crux+c4p", "cassini"});
  for (const RunResult& run : report.runs) EXPECT_EQ(FindBrokenAccount(run), "");
}

TEST(DelayAccountTest, RowsAddUpOnShippedScenarios) {
  for (const char* name :
       {"two-jobs.yaml", "uplink-failure.yaml", "own-workload.yaml", "training-beside-inference.yaml",
        "lab-eight-jobs.yaml", "lab-bonded-ports.yaml", "lab-link-failure.yaml", "lab-crux-five-jobs.yaml"}) {
    SCOPED_TRACE(name);
    const SimulationReport report = RunFile(name, 2, {"ecmp", "crux", "c4p", "crux+c4p"});
    for (const RunResult& run : report.runs) EXPECT_EQ(FindBrokenAccount(run), "");
  }
}

}  // namespace
}  // namespace fairlead::sim
