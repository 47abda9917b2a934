// Spraying, minimal splitting and given paths, simulated: closed forms on two leaves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>

#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

// Jobs of two GPUs send from hosts under leaf 0 to hosts under leaf 1; ports of 200 Gb/s. An iteration sends 25 GB,
// one second at full speed, and computes nothing.
class TwoLeaves {
 public:
  uint32_t hosts = 8;
  uint32_t spines = 4;
  double oversubscription = 1;
  std::string options = "spray: {efficiency: 1}\n";
  std::string policies = "ecmp, spray, ethereal, crux+spray";
  std::string detail = "coupled";
  double simulate_s = 50;

  void AddJob(const std::string& keys = "") {
    const size_t j = num_jobs_++;
    jobs_ += fmt::format("  - {{name: j{}, hosts: [h{}, h{}], gpus: 2, compute_s: 0, size_mb: 25000{}}}\n", j, j,
                         hosts + j, keys);
  }

  std::map<std::string, RunResult> Run() const {
    const std::string text = fmt::format(
        "title: two leaves\nseeds: 1\nsimulate_s: {}\nrandom_phase: false\ngoodput: 1\ndetail: {}\npolicies: [{}]\n{}"
        "fabric: {{kind: clos2, leaves: 2, hosts_per_leaf: {}, spines: {}, oversubscription: {}, host: {{gpus: 2, "
        "nics: "
        "1, port_gbps: 200, sockets: 1, pcie_switches: 1}}}}\njobs:\n{}",
        simulate_s, detail, policies, options, hosts, spines, oversubscription, jobs_);
    const Scenario scenario = ParseScenario(text, "test.yaml", {}).value();
    const std::atomic<bool> never = false;
    SimulationReport report = RunScenario(scenario, {.num_threads = 1}, never, nullptr).value();
    std::map<std::string, RunResult> by_policy;
    for (RunResult& run : report.runs) by_policy.emplace(run.policy, std::move(run));
    return by_policy;
  }

 private:
  std::string jobs_;
  size_t num_jobs_ = 0;
};

TEST(RoutingPoliciesTest, SprayedFlowsShareAllUplinksLikeOnePipe) {
  // n flows of rate 1 over uplinks of 8 / o in all: min(1, 8 / (o n)) each. Minimal splitting is as even.
  for (const double oversubscription : {1.0, 2.0, 4.0, 8.0}) {
    for (const uint32_t jobs : {1u, 3u, 8u}) {
      TwoLeaves leaves;
      leaves.oversubscription = oversubscription;
      for (uint32_t j = 0; j < jobs; ++j) leaves.AddJob();
      const auto runs = leaves.Run();
      const double expected_s = std::max(1.0, oversubscription * jobs / 8);
      for (const std::string policy : {"spray", "ethereal"}) {
        for (const JobResult& job : runs.at(policy).jobs) {
          EXPECT_NEAR(job.iteration_s / expected_s, 1, 1e-8) << policy << " " << oversubscription << ":1 " << jobs;
        }
      }
    }
  }
}

TEST(RoutingPoliciesTest, EfficiencyIsPaidBySprayOnly) {
  TwoLeaves leaves;
  leaves.options = "spray: {efficiency: 0.96}\n";
  leaves.AddJob();
  const auto runs = leaves.Run();
  EXPECT_NEAR(runs.at("spray").jobs[0].iteration_s, 1 / 0.96, 1e-8);
  EXPECT_NEAR(runs.at("spray").jobs[0].slowdown, 1 / 0.96, 1e-6) << "against a job alone that does not spray";
  EXPECT_NEAR(runs.at("ecmp").jobs[0].iteration_s, 1, 1e-8);
}

TEST(RoutingPoliciesTest, WithOnePathAllAreEcmp) {
  TwoLeaves leaves;
  leaves.spines = 1;
  leaves.oversubscription = 4;
  for (int j = 0; j < 5; ++j) leaves.AddJob();
  const auto runs = leaves.Run();
  EXPECT_EQ(runs.at("spray").event_hash, runs.at("ecmp").event_hash);
  EXPECT_EQ(runs.at("ethereal").event_hash, runs.at("ecmp").event_hash);
}

TEST(RoutingPoliciesTest, AnUplinkAtHalfSpeedHoldsUpObliviousSprayOnly) {
  // Two uplinks of 4 hosts each, one at half speed: adaptive 6 of 8 hosts, oblivious 4: twice the half.
  TwoLeaves leaves;
  leaves.spines = 2;
  leaves.policies = "spray";
  for (int j = 0; j < 8; ++j) leaves.AddJob();
  const std::string event = "link_events: [{at_s: 0, link: leaf0->spine1, health: 0.5, both_directions: true}]\n";
  leaves.options = "spray: {efficiency: 1}\n" + event;
  EXPECT_NEAR(leaves.Run().at("spray").jobs[0].iteration_s, 8.0 / 6, 1e-8);
  leaves.options = "spray: {efficiency: 1, split: oblivious}\n" + event;
  EXPECT_NEAR(leaves.Run().at("spray").jobs[0].iteration_s, 8.0 / 4, 1e-8);
}

TEST(RoutingPoliciesTest, ADeadUplinkCostsItsShare) {
  // 32 uplinks, one dead: 1/32 of the rate. An eighth of the flows would lose half under hashing.
  TwoLeaves leaves;
  leaves.spines = 32;
  leaves.policies = "spray";
  leaves.options = "spray: {efficiency: 1}\nlink_events: [{at_s: 0, link: leaf0->spine7, health: 0}]\n";
  for (int j = 0; j < 8; ++j) leaves.AddJob();
  EXPECT_NEAR(leaves.Run().at("spray").jobs[0].iteration_s, 32.0 / 31, 1e-8);
}

// NICs of eight ports, each in a plane of its own: with all ports alive at rate 1, otherwise at what the planes carry
// that are alive at both ends.
double RateOverPlanes(const std::string& policy, const std::string& events) {
  const std::string text = fmt::format(
      "title: planes\nseeds: 1\nsimulate_s: 50\nrandom_phase: false\ngoodput: 1\npolicies: [{}]\n"
      "spray: {{efficiency: 1}}\nlink_events: [{}]\n"
      "fabric: {{kind: rail-dual-plane, segments: 2, hosts_per_segment: 1, spines: 4, host: {{gpus: 1, nics: 1, "
      "ports_per_nic: 8, port_gbps: 25, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 64}}}}\n"
      "jobs: [{{gpus: 2, compute_s: 0, size_mb: 25000}}]\n",
      policy, events);
  const auto scenario = ParseScenario(text, "test.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  return 1 / RunScenario(*scenario, {.num_threads = 1}, never, nullptr)->runs[0].jobs[0].iteration_s;
}

TEST(RoutingPoliciesTest, PlanesFailAlone) {
  // (P-1)/P for a port, for the same plane at both ends, a whole plane, or its one leaf; (P-2)/P for two planes.
  EXPECT_NEAR(RateOverPlanes("spray", ""), 1, 1e-8);
  const std::string port = "{at_s: 0, link: h0/nic0->leaf3, health: 0}";
  EXPECT_NEAR(RateOverPlanes("spray", port), 0.875, 1e-8);
  EXPECT_NEAR(RateOverPlanes("spray", port + ", {at_s: 0, link: h1/nic0->leaf11, health: 0}"), 0.875, 1e-8);
  EXPECT_NEAR(RateOverPlanes("spray", port + ", {at_s: 0, link: h1/nic0->leaf12, health: 0}"), 0.75, 1e-8);
  EXPECT_NEAR(RateOverPlanes("spray", "{at_s: 0, plane: 5, health: 0}"), 0.875, 1e-8);
  EXPECT_NEAR(RateOverPlanes("spray", "{at_s: 0, node: leaf5, health: 0}"), 0.875, 1e-8);
  EXPECT_NEAR(RateOverPlanes("spray", "{at_s: 0, plane: 5, health: 0}, {at_s: 0, plane: 0, health: 0}"), 0.75, 1e-8);
  // A spine less is a quarter of one plane, as long as ports carry alike.
  EXPECT_NEAR(RateOverPlanes("spray", "{at_s: 0, node: spine0, health: 0}"), 31.0 / 32, 1e-8);
  // It comes back.
  EXPECT_NEAR(RateOverPlanes("spray", "{at_s: 0, plane: 5, health: 0}, {at_s: 1, plane: 5, health: 1}"), 1, 0.02);
  // One flow on one of the 32 ways, whose plane fails: hashed anew on one of the others.
  EXPECT_NEAR(RateOverPlanes("ecmp", ""), 1.0 / 32, 1e-8);
  for (int plane = 0; plane < 8; ++plane) {
    EXPECT_NEAR(RateOverPlanes("ecmp", fmt::format("{{at_s: 0, plane: {}, health: 0}}", plane)), 1.0 / 32, 1e-8);
  }
}

// A flat ring of two hosts leaves each on one rail and enters the other on another. Over a spine it has an uplink, half
// as fast as its NIC; where it changes the rail inside its host it stays below the leaf, and needs no spine at all.
TEST(RoutingPoliciesTest, RailOnlyFabricsCarryFlatRings) {
  const auto iteration_s = [](const std::string& fabric, const std::string& keys) {
    const std::string text =
        "title: rails\nseeds: 1\nsimulate_s: 50\nrandom_phase: false\ngoodput: 1\npolicies: [ecmp, crux, spray]\n"
        "spray: {efficiency: 1}\nfabric: {kind: rail-dual-plane, hosts_per_segment: 2, " +
        fabric + ", host: {gpus: 4, nics: 4, ports_per_nic: 1, port_gbps: 8, pcie_switches: 4}}\n" + keys +
        "jobs: [{gpus: 8, compute_s: 0.1, size_mb: 1000}]\n";
    const auto scenario = ParseScenario(text, "test.yaml", {});
    EXPECT_TRUE(scenario.ok()) << scenario.status().message();
    const std::atomic<bool> never = false;
    double longest = 0;
    const auto report = RunScenario(*scenario, {.num_threads = 1}, never, nullptr);
    for (const RunResult& run : report->runs) longest = std::max(longest, run.jobs[0].iteration_s);
    return longest;
  };
  const double alone_s = 1.75;  // 2 * 7/8 of 1 GB
  EXPECT_NEAR(iteration_s("spines: 4", ""), 0.1 + 2 * alone_s, 1e-6);
  EXPECT_NEAR(iteration_s("spines: 4", "pxn: true\n"), 0.1 + alone_s, 1e-6);
  EXPECT_NEAR(iteration_s("spines: 0, rail_only: true", ""), 0.1 + alone_s, 1e-6);
  const std::string refused =
      "title: rails\nfabric: {kind: rail-dual-plane, hosts_per_segment: 2, spines: 0, rail_only: true}\npxn: false\n"
      "jobs: [{gpus: 8, compute_s: 1}]\n";
  EXPECT_NE(ParseScenario(refused, "test.yaml", {}).status().message().find("meet in hosts only"), std::string::npos);
}

TEST(RoutingPoliciesTest, LevelsStayOnTopOfSpray) {
  // Uplinks 8:1 for two jobs: the first job goes first, as fast as it can alone, and the second has what it leaves.
  TwoLeaves leaves;
  leaves.oversubscription = 8;
  leaves.policies = "spray, crux+spray";
  leaves.AddJob(", work_tflop: 20");
  leaves.AddJob(", work_tflop: 10");
  const auto runs = leaves.Run();
  EXPECT_NEAR(runs.at("spray").jobs[0].iteration_s, 2, 1e-8);
  EXPECT_NEAR(runs.at("crux+spray").jobs[0].iteration_s, 1, 1e-8);
  EXPECT_NEAR(runs.at("crux+spray").jobs[1].iterations, 0, 0.05);
}

TEST(RoutingPoliciesTest, BytesOverTheUplinksAddUp) {
  TwoLeaves leaves;
  leaves.spines = 3;
  leaves.policies = "spray";
  for (int j = 0; j < 4; ++j) leaves.AddJob();
  const RunResult run = leaves.Run().at("spray");
  double gigabytes = 0;
  for (const LinkResult& link : run.links) {
    if (link.name.starts_with("leaf0->spine")) gigabytes += link.utilization * link.capacity_bytes_per_s * 50e-9;
  }
  double expected = 0;
  for (const JobResult& job : run.jobs) expected += job.iterations * 25;
  EXPECT_NEAR(gigabytes, expected, 1e-3);
}

TEST(RoutingPoliciesTest, FlowletsThatNeverChooseAreEcmp) {
  TwoLeaves leaves;
  leaves.oversubscription = 2;
  leaves.policies = "ecmp, flowlet";
  for (int j = 0; j < 6; ++j) leaves.AddJob();
  leaves.options = "flowlet: {gap_us: 1e9}\n";
  const auto never = leaves.Run();
  EXPECT_EQ(never.at("flowlet").event_hash, never.at("ecmp").event_hash);
  leaves.options = "";
  const auto runs = leaves.Run();
  EXPECT_NE(runs.at("flowlet").event_hash, runs.at("ecmp").event_hash) << "a test that can fail";
}

TEST(RoutingPoliciesTest, AsManyFlowsAsPathsEndDisjointUnderConga) {
  // Four uplinks, each as fast as a port. At the first block each flow sees those before it; without gaps they stay.
  TwoLeaves leaves;
  leaves.oversubscription = 2;
  leaves.policies = "ecmp, flowlet";
  leaves.options = "";
  for (int j = 0; j < 4; ++j) leaves.AddJob();
  const auto runs = leaves.Run();
  double slowest_hashed = 0;
  for (const JobResult& job : runs.at("ecmp").jobs) slowest_hashed = std::max(slowest_hashed, job.iteration_s);
  EXPECT_GT(slowest_hashed, 1.5) << "hashes collide, so that there is something to win";
  for (const JobResult& job : runs.at("flowlet").jobs) EXPECT_NEAR(job.iteration_s, 1, 1e-8);
}

TEST(RoutingPoliciesTest, RemapsLeaveALinkThatHasBecomeSlow) {
  // Two jobs, four uplinks as fast as a port. One uplink drops to a quarter after 10 s: without gaps a flow on it stays,
  // with remaps it is gone within a millisecond.
  TwoLeaves leaves;
  leaves.oversubscription = 2;
  leaves.policies = "flowlet";
  leaves.AddJob();
  leaves.AddJob();
  std::string events = "link_events: [";
  for (const int spine : {0, 1}) events += fmt::format("{{at_s: 10.5, link: leaf0->spine{}, health: 0.25}}, ", spine);
  events += "]\n";
  const auto slowest = [&](const std::string& options) {
    leaves.options = options + events;
    const RunResult run = leaves.Run().at("flowlet");
    return std::max(run.jobs[0].iteration_s, run.jobs[1].iteration_s);
  };
  EXPECT_NEAR(slowest("flowlet: {remap_us: 1000}\n"), 1, 2e-3);
  EXPECT_GT(slowest("flowlet: {gap_us: 500}\n"), 1.5);
}

TEST(RoutingPoliciesTest, ChosenPathsCarryAllBytes) {
  for (const std::string options : {"{rule: letflow, gap_us: 0}", "{rule: conga, gap_us: 0, remap_us: 250000}",
                                    "{rule: sglb, gap_us: 0, remap_us: 100000}"}) {
    TwoLeaves leaves;
    leaves.spines = 6;
    leaves.oversubscription = 2;
    leaves.simulate_s = 20;
    leaves.policies = "flowlet";
    leaves.options = "flowlet: " + options + "\n";
    for (int j = 0; j < 5; ++j) leaves.AddJob();
    const RunResult run = leaves.Run().at("flowlet");
    double gigabytes = 0;
    size_t num_used = 0;
    for (const LinkResult& link : run.links) {
      if (!link.name.starts_with("leaf0->spine")) continue;
      gigabytes += link.utilization * link.capacity_bytes_per_s * 20e-9;
      EXPECT_LE(link.utilization, 1 + 1e-9);
      num_used += link.utilization > 0 ? 1 : 0;
    }
    double expected = 0;
    for (const JobResult& job : run.jobs) expected += job.iterations * 25;
    EXPECT_NEAR(gigabytes, expected, 1e-3) << options;
    EXPECT_GE(num_used, 4u) << options;
  }
}

TEST(RoutingPoliciesTest, GivenPathsAndLevelsAreObeyed) {
  // Both through one spine of a quarter of 8 hosts, 2 hosts: no loss; at 4:1 half a host: level 0 takes it all.
  TwoLeaves leaves;
  leaves.oversubscription = 4;
  leaves.policies = "fixed";
  leaves.options = "fixed: [{job: j0, via: spine2, level: 1}, {job: j1, via: spine2}]\n";
  leaves.AddJob();
  leaves.AddJob();
  RunResult run = leaves.Run().at("fixed");
  EXPECT_NEAR(run.jobs[1].iteration_s, 2, 1e-8);
  EXPECT_NEAR(run.jobs[0].iterations, 0, 0.05);
  leaves.options = "fixed: [{job: j0, path: 0}, {job: j1, path: 1}]\n";
  run = leaves.Run().at("fixed");
  for (const JobResult& job : run.jobs) EXPECT_NEAR(job.iteration_s, 2, 1e-8);
  leaves.options = "fixed: [{job: j0, path: 0}, {job: j1, path: 0}]\n";
  run = leaves.Run().at("fixed");
  for (const JobResult& job : run.jobs) EXPECT_NEAR(job.iteration_s, 4, 1e-8);
}

TEST(RoutingPoliciesTest, MistakesInGivenPathsAreNamed) {
  const auto error = [](const std::string& fixed) {
    const std::string text =
        "title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2}\npolicies: [fixed]\n"
        "fixed: [" +
        fixed + "]\njobs: [{name: a, gpus: 16, compute_s: 1, size_mb: 10}]\n";
    return ParseScenario(text, "t.yaml", {}).status().message();
  };
  EXPECT_EQ(error("{job: a}"), "");
  EXPECT_NE(error("{job: b}").find("there is no job 'b'"), std::string::npos);
  EXPECT_NE(error("{job: a, via: spine9}").find("there is no switch 'spine9'"), std::string::npos);
  EXPECT_NE(error("{job: a, via: spine1, path: 1}").find("either path or via"), std::string::npos);
  EXPECT_NE(error("{job: a}, {job: a}").find("appears twice"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::sim
