#include "sim/hosts/host_world.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "sim/random_scenario.h"
#include "sim/run_laws.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim::hosts {
namespace {

using testing::HasSubstr;

// Two leaves of four hosts with two GPUs and one NIC each, four spines: 2 x 4 x 100 Gb/s up, 4 x 100 Gb/s down.
constexpr char kFabric[] =
    "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 4, spines: 4, uplink_gbps: 100,\n"
    "         host: {gpus: 2, nics: 1, ports_per_nic: 1, pcie_switches: 1, sockets: 1, port_gbps: 100}}\n";

Result<SimulationReport> RunText(const std::string& text) {
  const std::atomic<bool> stop = false;
  FL_ASSIGN_OR_RETURN(const Scenario scenario, ParseScenario(text, "test.yaml", {}));
  return RunScenario(scenario, {.num_threads = 1, .live_traffic = CreateHostWorld}, stop, {});
}

RunResult RunOne(const std::string& text) {
  auto report = RunText(text);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return std::move(report->runs.at(0));
}

std::string FourJobs(std::string_view detail, std::string_view policy, double simulate_s, std::string_view more = "") {
  std::string text = fmt::format("title: test\n{}policies: [{}]\nseeds: 1\nsimulate_s: {}\ndetail: {}\n{}jobs:\n",
                                 kFabric, policy, simulate_s, detail, more);
  // Four jobs of one host on each leaf: a ring of two, one connection each way.
  for (int j = 0; j < 4; ++j) {
    text += fmt::format(
        "  - {{name: j{}, gpus: 4, hosts: [h{}, h{}], compute_s: 0.1, size_mb: 2000, collective: ring-all-reduce}}\n",
        j, j, j + 4);
  }
  return text;
}

double MeanIteration(const RunResult& run) {
  double sum = 0;
  for (const JobResult& job : run.jobs) sum += job.iteration_s;
  return sum / static_cast<double>(run.jobs.size());
}

// Of all jobs of a run.
double WorstSlowdown(const RunResult& run) {
  double worst = 0;
  for (const JobResult& job : run.jobs) worst = std::max(worst, job.slowdown);
  return worst;
}

std::string ErrorOf(const std::string& text) { return RunText(text).status().message(); }

// Four connections each way share four uplinks of a leaf: each gets its own. In the first second, ports are not known
// yet, and connections start where they were hashed.
TEST(HostWorldTest, ThePathServiceGivesConnectionsTheirOwnLinks) {
  const RunResult run = RunOne(FourJobs("agents", "c4p", 60));
  EXPECT_LT(WorstSlowdown(run), 1.01);
  const RunResult planned = RunOne(FourJobs("coupled", "c4p", 60));
  EXPECT_NEAR(MeanIteration(run), MeanIteration(planned), 0.005 * MeanIteration(planned));
}

// Without it four connections on four links meet with a probability of 1 - 4!/4^4 = 91 % each way.
TEST(HostWorldTest, WithoutItTheyStayWhereTheyWereHashed) {
  EXPECT_GT(WorstSlowdown(RunOne(FourJobs("agents", "ecmp", 60))), 1.2);
}

// One spine: all meet, whatever the paths. The jobs compute 0.4 s and send 2 GB (0.165 s at 97 Gb/s), or 0.1 s and
// 4 GB.
constexpr char kOneLink[] =
    "title: test\n"
    "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 1, uplink_gbps: 100,\n"
    "         host: {gpus: 1, nics: 1, ports_per_nic: 1, pcie_switches: 1, sockets: 1, port_gbps: 100}}\n"
    "seeds: 1\nsimulate_s: 120\n";

std::string TwoJobs(std::string_view detail, std::string_view policy) {
  return fmt::format(
      "{}policies: [{}]\ndetail: {}\njobs:\n"
      "  - {{name: worthy, gpus: 2, hosts: [h0, h2], compute_s: 0.4, work_tflop: 100, size_mb: 2000}}\n"
      "  - {{name: other, gpus: 2, hosts: [h1, h3], compute_s: 0.1, work_tflop: 10, size_mb: 4000}}\n",
      kOneLink, policy, detail);
}

// Agents need a window of ten seconds before they report; from then on the worthier job goes first, as it does when a
// policy sees everything at once.
TEST(HostWorldTest, JobsThatWereMeasuredAreOrdered) {
  const RunResult run = RunOne(TwoJobs("agents", "crux-levels"));
  const RunResult planned = RunOne(TwoJobs("coupled", "crux-levels"));
  ASSERT_LT(planned.jobs[0].level, planned.jobs[1].level);
  EXPECT_LT(run.jobs[0].level, run.jobs[1].level);
  for (size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(run.jobs[j].iteration_s, planned.jobs[j].iteration_s, 0.06 * planned.jobs[j].iteration_s) << j;
  }
  EXPECT_GE(run.level_changes, 1u);
  const RunResult unordered = RunOne(TwoJobs("agents", "ecmp"));
  EXPECT_GT(unordered.jobs[0].iteration_s, 1.1 * run.jobs[0].iteration_s);
  EXPECT_EQ(unordered.level_changes, 0u);
}

// Two planes of two leaves and four spines, NICs with a port on each: two jobs between the leaves of a plane, a third
// of two hosts below the same leaves. Two connections for each flow.
std::string BondedJobs(std::string_view detail, std::string_view policy) {
  std::string text = fmt::format(
      "title: test\n"
      "fabric: {{kind: rail-dual-plane, segments: 2, hosts_per_segment: 4, spines: 4,\n"
      "         host: {{gpus: 2, nics: 1, ports_per_nic: 2, pcie_switches: 1, sockets: 1, port_gbps: 100}}}}\n"
      "policies: [{}]\nseeds: 1\nsimulate_s: 60\ndetail: {}\nqps_per_connection: 2\njobs:\n",
      policy, detail);
  for (const auto& [name, hosts] : {std::pair("j0", "h0, h4"), {"j1", "h1, h5"}, {"same_leaves", "h2, h3"}}) {
    text += fmt::format(
        "  - {{name: {}, gpus: 4, hosts: [{}], compute_s: 0.1, size_mb: 2000, collective: ring-all-reduce}}\n", name,
        hosts);
  }
  return text;
}

// A bonded NIC has one address, and the hash chooses its port, too: also below the same leaves, where each plane has
// one way, the port of a socket decides on the plane. Each of the two connections of a flow gets a plane of its own.
TEST(HostWorldTest, ConnectionsUseBothPortsOfBondedNics) {
  const RunResult run = RunOne(BondedJobs("agents", "c4p"));
  const RunResult planned = RunOne(BondedJobs("coupled", "c4p"));
  for (size_t j = 0; j < 3; ++j) {
    EXPECT_NEAR(run.jobs[j].iteration_s, planned.jobs[j].iteration_s, 0.005 * planned.jobs[j].iteration_s) << j;
  }
  EXPECT_GT(WorstSlowdown(RunOne(BondedJobs("agents", "ecmp"))), 1.3);
}

// Packets are lost for 200 ms, then switches hash around the cable, and connections meet; probes find the cable within
// some rounds of 5 s, and connections are spread over what is left. A policy that is told at once is faster by that.
TEST(HostWorldTest, ConnectionsLeaveACableThatFails) {
  const std::string failure = "link_events:\n  - {at_s: 20, link: \"leaf0->spine1\", health: 0}\n";
  const RunResult run = RunOne(FourJobs("agents", "c4p", 120) + failure);
  for (const JobResult& job : run.jobs) EXPECT_EQ(job.condition, JobCondition::kRan) << job.name;
  for (const LinkResult& link : run.links) {
    if (link.name == "leaf0->spine1") {
      EXPECT_EQ(link.num_jobs, 0u);
    }
  }
  ASSERT_FALSE(run.control.empty());
  EXPECT_GT(run.control.back().time_s, 25) << "as if somebody had told";
  EXPECT_LT(run.control.back().time_s, 60) << "found late, or moved again and again";
  const RunResult planned = RunOne(FourJobs("coupled", "c4p", 120) + failure);
  EXPECT_GT(MeanIteration(run), MeanIteration(planned));
  EXPECT_LT(MeanIteration(run), 1.3 * MeanIteration(planned));
}

// Each of 20 jobs runs for 3 s to 4 s; all want the same hosts. Numbers of processes, sockets and connections go on.
TEST(HostWorldTest, JobsComeAndGo) {
  std::string text =
      fmt::format("title: test\n{}policies: [crux+c4p]\nseeds: 1\nsimulate_s: 300\ndetail: agents\njobs:\n", kFabric);
  for (int j = 0; j < 20; ++j) {
    text += fmt::format("  - {{name: j{}, gpus: 8, compute_s: 0.1, size_mb: 1000, arrival_s: {}, iterations: 12}}\n", j,
                        j / 2);
  }
  const RunResult run = RunOne(text);
  for (const JobResult& job : run.jobs) EXPECT_TRUE(job.finished) << job.name;
}

TEST(HostWorldTest, TheSameSeedTheSameRun) {
  const std::string text = FourJobs("agents", "crux+c4p", 20);
  EXPECT_EQ(RunOne(text).event_hash, RunOne(text).event_hash);
  EXPECT_NE(RunOne(text).event_hash, RunOne(text + "seed: 2\n").event_hash);
}

// Whatever is simulated, the account adds up, links carry no more than they can, and nothing takes less than alone.
TEST(HostWorldTest, LawsOfRunsHold) {
  const RandomScenarioOptions options = {.profiling = false,
                                         .background = false,
                                         .max_jobs = 6,
                                         .max_simulated_s = 20,
                                         .policies = {"ecmp", "c4p", "crux-levels", "crux+c4p"}};
  const std::atomic<bool> stop = false;
  uint32_t num_run = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    Scenario scenario = RandomScenario(random, options);
    scenario.simulates_agents = true;
    scenario.simulation.detail = Detail::kCoupled;
    const auto report = RunScenario(scenario, {.num_threads = 1, .live_traffic = CreateHostWorld}, stop, {});
    if (report.status().code() == StatusCode::kInvalidArgument) continue;  // too many levels
    ASSERT_TRUE(report.ok()) << seed << ": " << report.status().message();
    EXPECT_EQ(FindBrokenLaw(scenario, report->runs[0]), "") << seed;
    ++num_run;
  }
  EXPECT_GT(num_run, 25u);
}

TEST(HostWorldTest, WhatNoLiveClusterHasIsRefused) {
  EXPECT_THAT(ErrorOf(FourJobs("agents", "crux", 10)),
              HasSubstr("agents are simulated: unknown policy for running jobs 'crux'; known: ecmp, c4p"));
  EXPECT_THAT(ErrorOf(FourJobs("agents", "c4p", 10, "profile_jobs: true\n")),
              HasSubstr("they measure jobs themselves"));
  EXPECT_THAT(ErrorOf(FourJobs("agents", "c4p", 10, "levels: 9\n")), HasSubstr("found 9 levels"));
}

}  // namespace
}  // namespace fairlead::sim::hosts
