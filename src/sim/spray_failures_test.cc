// Failures that spraying has not noticed yet, simulated: closed forms, and what must not depend on how they are
// simulated.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

// Two leaves of eight hosts with one port of 200 Gb/s each; jobs j, of two GPUs, send from host j to host 8 + j, 25 GB
// an iteration, one second at full speed, and compute nothing. `hosts_per_job` > 1: rings through so many hosts of each
// leaf.
struct SprayedLeaves {
  uint32_t spines = 4;
  double oversubscription = 1;
  uint32_t jobs = 1;
  std::string spray = "efficiency: 1";
  std::string events = {};    // of link_events, separated by commas
  std::string keys = {};      // lines of the scenario
  std::string job_keys = {};  // of each job
  std::string policy = "spray";
  double simulate_s = 10;

  RunResult Run(bool aggregates = true, bool fast_forward = true) const {
    std::string text = fmt::format(
        "title: sprayed leaves\nseeds: 1\nsimulate_s: {}\nrandom_phase: false\ngoodput: 1\npolicies: [{}]\n"
        "spray: {{{}}}\nlink_events: [{}]\n{}fabric: {{kind: clos2, leaves: 2, hosts_per_leaf: 8, spines: {}, "
        "oversubscription: {}, host: {{gpus: 1, nics: 1, port_gbps: 200, sockets: 1, pcie_switches: 1, "
        "pcie_gigabytes_per_s: 64}}}}\njobs:\n",
        simulate_s, policy, spray, events, keys, spines, oversubscription);
    for (uint32_t j = 0; j < jobs; ++j) {
      text +=
          fmt::format("  - {{name: j{}, hosts: [h{}, h{}], gpus: 2, compute_s: 0, size_mb: 25000, work_tflop: {}{}}}\n",
                      j, j, 8 + j, 20.0 / (j + 1), job_keys);
    }
    auto scenario = ParseScenario(text, "test.yaml", {});
    EXPECT_TRUE(scenario.ok()) << scenario.status().message();
    scenario->simulation.aggregate_flows = aggregates;
    scenario->simulation.fast_forward = fast_forward;
    const std::atomic<bool> never = false;
    return RunScenario(*scenario, {.num_threads = 1}, never, nullptr)->runs.front();
  }
  double Iterations() const { return Run().jobs[0].iterations; }
};

std::string Down(double at_s, const std::string& link) {
  return fmt::format("{{at_s: {}, link: {}, health: 0}}, ", at_s, link);
}

std::string Up(double at_s, const std::string& link) {
  return fmt::format("{{at_s: {}, link: {}, health: 1}}, ", at_s, link);
}

double GigabytesOver(const RunResult& run, const std::string& prefix, double simulated_s) {
  double gigabytes = 0;
  for (const LinkResult& link : run.links) {
    if (link.name.starts_with(prefix)) gigabytes += link.utilization * link.capacity_bytes_per_s * simulated_s * 1e-9;
  }
  return gigabytes;
}

TEST(SprayFailuresTest, ADeadShareIsLostUntilItIsNoticedAndNotAfterwards) {
  // k of S uplinks dead for the 0.4 s of detection: k/S of 0.4 iterations are missing after 10 s, exactly.
  for (const uint32_t spines : {2u, 4u, 8u}) {
    for (uint32_t dead = 1; dead <= spines / 2; ++dead) {
      SprayedLeaves leaves{.spines = spines, .spray = "efficiency: 1, detect_us: 400000"};
      for (uint32_t k = 0; k < dead; ++k) leaves.events += Down(1.5, fmt::format("leaf0->spine{}", k));
      const RunResult run = leaves.Run();
      const double missing = 0.4 * dead / spines;
      EXPECT_NEAR(run.jobs[0].iterations, 10 - missing, 1e-7) << dead << " of " << spines;
      // What is lost has crossed the port of its NIC, all the time at full speed, and no uplink.
      EXPECT_NEAR(GigabytesOver(run, "h0/nic0->", 10), 250, 1e-4);
      EXPECT_NEAR(GigabytesOver(run, "leaf0->spine", 10), 250 - 25 * missing, 1e-4);
      EXPECT_NEAR(GigabytesOver(run, "leaf1->h8/", 10), 250 - 25 * missing, 1e-4);
      ASSERT_EQ(run.jobs[0].lost_to.size(), 1u);
      EXPECT_EQ(run.jobs[0].lost_to[0].cause, LossCause::kCapacity);
      EXPECT_NEAR(run.jobs[0].lost_s, missing, 1e-6);
    }
  }
}

TEST(SprayFailuresTest, DownstreamLossCrossesTheUplinkToo) {
  // The link from the spine down to leaf 1 is dead: the share crosses the uplink before it is lost.
  SprayedLeaves leaves{.spray = "efficiency: 1, detect_us: 400000", .events = Down(1.5, "spine2->leaf1")};
  const RunResult run = leaves.Run();
  EXPECT_NEAR(run.jobs[0].iterations, 9.9, 1e-7);
  EXPECT_NEAR(GigabytesOver(run, "leaf0->spine", 10), 250, 1e-4);
  EXPECT_NEAR(GigabytesOver(run, "leaf1->h8/", 10), 247.5, 1e-4);
}

TEST(SprayFailuresTest, ARingIsHeldUpByTheDirectionThatLoses) {
  // One direction of a cable is dead: the ring goes in lockstep, and the other direction sends no more than arrives.
  SprayedLeaves leaves{.spray = "efficiency: 1, detect_us: 400000"};
  leaves.events = "{at_s: 1.5, link: leaf0->spine1, health: 0, both_directions: false}";
  const RunResult run = leaves.Run();
  EXPECT_NEAR(run.jobs[0].iterations, 9.9, 1e-7);
  EXPECT_NEAR(GigabytesOver(run, "h0/nic0->", 10), 250, 1e-4);
  EXPECT_NEAR(GigabytesOver(run, "h8/nic0->", 10), 247.5, 1e-4);
}

TEST(SprayFailuresTest, WhereUplinksAreTheBottleneckDetectionCostsNothing) {
  // Eight jobs over uplinks of half their rate: the live ones are full before and after detection, 3/4 of all.
  SprayedLeaves leaves{.oversubscription = 2, .jobs = 8, .spray = "efficiency: 1, detect_us: 1e6"};
  leaves.events = Down(2, "leaf0->spine1");
  for (const JobResult& job : leaves.Run().jobs) EXPECT_NEAR(job.iterations, 1 + 8 * 0.5 * 0.75, 1e-6);
}

TEST(SprayFailuresTest, DetectionInNoTimeIsNoDetectionAtAll) {
  for (const std::string policy : {"spray", "crux+spray"}) {
    for (const uint32_t jobs : {1u, 5u}) {
      SprayedLeaves leaves{.oversubscription = 2, .jobs = jobs, .policy = policy};
      for (const int spine : {0, 2}) {
        leaves.events += Down(1.23456789, fmt::format("leaf0->spine{}", spine));
        leaves.events += Up(3 + spine, fmt::format("leaf0->spine{}", spine));
      }
      const uint64_t hash = leaves.Run().event_hash;
      leaves.spray = "efficiency: 1, detect_us: 0, remap_s: 0";
      EXPECT_EQ(leaves.Run().event_hash, hash) << policy;
      // A microsecond later: the same to what a microsecond carries.
      const double before = leaves.Iterations();
      leaves.spray = "efficiency: 1, detect_us: 1";
      EXPECT_TRUE(jobs > 1 || leaves.Run().event_hash != hash) << "a test that can fail";
      EXPECT_NEAR(leaves.Iterations(), before, 1e-5);
    }
  }
}

TEST(SprayFailuresTest, PoliciesThatDoNotSprayKnowOfFailuresAtOnce) {
  for (const std::string policy : {"ecmp", "crux", "c4p", "ethereal", "flowlet"}) {
    SprayedLeaves leaves{.jobs = 3, .policy = policy};
    for (const int spine : {0, 1, 2}) leaves.events += Down(1.5, fmt::format("leaf0->spine{}", spine));
    const uint64_t hash = leaves.Run().event_hash;
    leaves.spray = "preset: blind";
    EXPECT_EQ(leaves.Run().event_hash, hash) << policy;
  }
}

TEST(SprayFailuresTest, FlappingInsideTheWindowIsNeverNoticedAndCostsItsOutages) {
  // Down for 0.1 s of each of eight half seconds, detection in 0.2 s: 0.8 s at 3/4. Noticed in 0.05 s: half of that.
  SprayedLeaves leaves{.spray = "efficiency: 1, detect_us: 200000"};
  for (int i = 0; i < 8; ++i) {
    leaves.events += Down(1 + 0.5 * i, "leaf0->spine3");
    leaves.events += Up(1.1 + 0.5 * i, "leaf0->spine3");
  }
  const RunResult run = leaves.Run();
  EXPECT_NEAR(run.jobs[0].iterations, 10 - 0.8 / 4, 1e-6);
  EXPECT_EQ(run.path_changes, 0u) << "nobody knows";
  leaves.spray = "efficiency: 1, detect_us: 50000";
  EXPECT_NEAR(leaves.Iterations(), 10 - 0.4 / 4, 1e-6);
  leaves.spray = "efficiency: 1";
  EXPECT_NEAR(leaves.Iterations(), 10, 1e-6);
}

TEST(SprayFailuresTest, AsManyFailuresAsPathsCutTheFlowOffUntilOneComesBack) {
  // The last path dies while the first is unnoticed: nothing arrives, noticed or not, until 4 s.
  SprayedLeaves leaves{.spines = 2, .spray = "efficiency: 1, detect_us: 500000"};
  leaves.events = Down(2, "leaf0->spine0") + Down(2.3, "leaf0->spine1") + Up(4, "leaf0->spine0");
  EXPECT_NEAR(leaves.Iterations(), 2 + 0.3 / 2 + 6, 1e-6);
  leaves.spray = "efficiency: 1, detect_us: 1e8";
  // Up to 10 s nobody has noticed that spine 1 is dead: half of what is sent arrives.
  EXPECT_NEAR(leaves.Iterations(), 2 + 0.3 / 2 + 6 / 2.0, 1e-6);
}

TEST(SprayFailuresTest, ReorderingIsAddedToEachMessageOnSeveralPaths) {
  SprayedLeaves leaves{.spray = "efficiency: 1, reorder_us: 250000"};
  RunResult run = leaves.Run();
  EXPECT_NEAR(run.jobs[0].iteration_s, 1.25, 1e-8);
  EXPECT_NEAR(run.jobs[0].slowdown, 1.25, 1e-6) << "against a job alone that does not spray";
  ASSERT_EQ(run.jobs[0].lost_to.size(), 1u);
  EXPECT_EQ(run.jobs[0].lost_to[0].cause, LossCause::kReordering);
  leaves.keys = "latency: {ends_us: 100000, hop_us: 0}\n";
  EXPECT_NEAR(leaves.Run().jobs[0].iteration_s, 1.45, 1e-8) << "beside the latency of two steps";
  leaves.keys = "";
  leaves.spines = 1;
  EXPECT_NEAR(leaves.Run().jobs[0].iteration_s, 1, 1e-8) << "one path keeps the order";
}

TEST(SprayFailuresTest, PresetsAreTheOptionsThatTheySay) {
  const std::string events = Down(1.5, "leaf0->spine1") + Down(2.5, "h0/nic0->leaf0") + Up(4, "h0/nic0->leaf0") +
                             "{at_s: 5, link: leaf0->spine2, health: 0.5}, ";
  const auto hash = [&](const std::string& spray, const std::string& policy, uint32_t jobs = 5) {
    return SprayedLeaves{.oversubscription = 2, .jobs = jobs, .spray = spray, .events = events, .policy = policy}
        .Run()
        .event_hash;
  };
  for (const std::string policy : {"spray", "crux+spray"}) {
    EXPECT_EQ(hash("preset: none", policy), hash("split: adaptive, efficiency: 0.96, paths: 128", policy));
    EXPECT_EQ(hash("preset: uec", policy), hash("paths: 256, detect_us: 100", policy));
    EXPECT_EQ(hash("preset: mrc", policy), hash("paths: 256, detect_us: 50, remap_s: 3", policy));
    EXPECT_EQ(hash("preset: spectrumx", policy), hash("paths: 256, detect_us: 1000", policy));
    EXPECT_EQ(hash("preset: blind", policy), hash("split: oblivious, detect_us: 1e6", policy));
    // Each key beats its preset.
    EXPECT_EQ(hash("preset: blind, split: adaptive, detect_us: 50, remap_s: 3, paths: 256", policy),
              hash("preset: mrc", policy));
    EXPECT_NE(hash("preset: uec", policy, 1), hash("preset: mrc", policy, 1));
    EXPECT_NE(hash("preset: uec", policy, 1), hash("preset: spectrumx", policy, 1));
    EXPECT_NE(hash("preset: blind", policy), hash("preset: none", policy));
  }
}

// A NIC of eight ports of 25 Gb/s in planes of their own sends 25 GB an iteration to one of the same, or, with `peers`,
// one after the other.
double IterationsOverPlanes(const std::string& spray, const std::string& events, double simulate_s) {
  const std::string text = fmt::format(
      "title: planes\nseeds: 1\nsimulate_s: {}\nrandom_phase: false\ngoodput: 1\npolicies: [spray]\nspray: {{{}}}\n"
      "link_events: [{}]\nfabric: {{kind: rail-dual-plane, segments: 2, hosts_per_segment: 1, spines: 4, host: {{gpus: "
      "1, nics: 1, ports_per_nic: 8, port_gbps: 25, pcie_switches: 1, sockets: 1, pcie_gigabytes_per_s: 64}}}}\n"
      "jobs: [{{gpus: 2, compute_s: 0, size_mb: 25000}}]\n",
      simulate_s, spray, events);
  const auto scenario = ParseScenario(text, "test.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  return RunScenario(*scenario, {.num_threads = 1}, never, nullptr)->runs[0].jobs[0].iterations;
}

TEST(SprayFailuresTest, ALostPortOfEightCostsAnEighthBeforeAndAfterItsRemap) {
  // All ports send at full speed either way: whether the dead one's eighth is lost or not given to it, 7/8 arrive.
  for (const std::string port : {"h0/nic0->leaf3", "leaf11->h1/nic0"}) {
    const std::string events = fmt::format("{{at_s: 2, link: \"{}\", health: 0}}", port);
    for (const std::string spray :
         {"preset: mrc, efficiency: 1", "efficiency: 1", "preset: mrc, efficiency: 1, remap_s: 0"}) {
      EXPECT_NEAR(IterationsOverPlanes(spray, events, 10), 2 + 8 * 0.875, 1e-6) << port << " " << spray;
    }
  }
}

TEST(SprayFailuresTest, ADeadLeafIsAvoidedBeforeItsPortsAreRemapped) {
  // Leaf 3 and all its cables: its uplinks are noticed in 50 us, so that no path leads through it; its ports in 3 s.
  // 28 of 32 ways are left, at any time.
  const std::string events = "{at_s: 2, node: leaf3, health: 0}, {at_s: 8, node: leaf3, health: 1}";
  EXPECT_NEAR(IterationsOverPlanes("preset: mrc, efficiency: 1", events, 10), 4 + 6 * 0.875, 1e-6);
  EXPECT_NEAR(IterationsOverPlanes("preset: blind, efficiency: 1", events, 10), 4 + 6 * 0.875, 1e-6);
}

TEST(SprayFailuresTest, SimulatedAsOneOrOneByOneSkippedOrNotAllIsTheSame) {
  SprayedLeaves leaves{.spines = 3, .oversubscription = 1.5, .jobs = 8, .spray = "preset: mrc, detect_us: 300000"};
  leaves.events = Down(1.1, "leaf0->spine1") + Down(1.3, "h2/nic0->leaf0") + Up(1.35, "leaf0->spine1") +
                  Down(2.2, "spine2->leaf1") + Up(5, "h2/nic0->leaf0") + Down(6, "leaf0->spine0");
  for (const std::string policy : {"spray", "crux+spray"}) {
    leaves.policy = policy;
    const RunResult one = leaves.Run(false, false);
    for (const bool aggregates : {false, true}) {
      for (const bool fast_forward : {false, true}) {
        const RunResult run = leaves.Run(aggregates, fast_forward);
        for (size_t j = 0; j < run.jobs.size(); ++j) {
          EXPECT_NEAR(run.jobs[j].work, one.jobs[j].work, 1e-6) << policy << aggregates << fast_forward << " " << j;
        }
      }
    }
  }
}

TEST(SprayFailuresTest, LevelsStayWhileNobodyHasNoticed) {
  // Uplinks 8:1 for two jobs. The first has the uplinks, as far as they live, before and after detection; the second
  // what is left of them: nothing.
  SprayedLeaves leaves{
      .oversubscription = 8, .jobs = 2, .spray = "efficiency: 1, detect_us: 1e6", .policy = "crux+spray"};
  leaves.events = Down(2, "leaf0->spine1");
  const RunResult run = leaves.Run();
  const double all = run.jobs[0].iterations + run.jobs[1].iterations;
  EXPECT_NEAR(all, 2 + 8 * 0.75, 1e-6);
  EXPECT_NEAR(std::min(run.jobs[0].iterations, run.jobs[1].iterations), 0, 0.05);
}

// Two flows leave one NIC, one of them over four uplinks with one dead, one below the leaf. Each sends half of what the
// NIC can: 3/8 and 1/2 of it arrive, as the one alone would lose a quarter.
TEST(SprayFailuresTest, SendersShareLinksByWhatTheySend) {
  const auto work = [](const std::string& events) {
    const std::string text =
        "title: one NIC\nseeds: 1\nsimulate_s: 10\nrandom_phase: false\ngoodput: 1\npolicies: [spray]\n"
        "spray: {efficiency: 1, detect_us: 1e8}\nlink_events: [" +
        events +
        "]\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 4, spines: 4, host: {gpus: 2, nics: 1, port_gbps: 200, "
        "sockets: 1, pcie_switches: 1, pcie_gigabytes_per_s: 64}}\njobs:\n"
        "  - {hosts: [h0, h4], gpus: 2, gpus_per_host: 1, compute_s: 0, size_mb: 25000, collective: send-receive}\n"
        "  - {hosts: [h0, h1], gpus: 2, gpus_per_host: 1, compute_s: 0, size_mb: 25000, collective: send-receive}\n";
    const std::atomic<bool> never = false;
    return RunScenario(ParseScenario(text, "test.yaml", {}).value(), {.num_threads = 1}, never, nullptr)->runs[0].jobs;
  };
  EXPECT_NEAR(work("")[0].work, 5, 1e-6);
  EXPECT_NEAR(work("")[1].work, 5, 1e-6);
  EXPECT_NEAR(work(Down(0, "leaf0->spine1"))[0].work, 3.75, 1e-6);
  EXPECT_NEAR(work(Down(0, "leaf0->spine1"))[1].work, 5, 1e-6);
  // Of 6.25 s that the first loses, what it would send again at full speed (1/3 of the NIC) and what the other has there
  // (1/2) account for 2 and 3 parts of 5.
  std::map<LossCause, double> lost_s;
  const std::vector<JobResult> jobs = work(Down(0, "leaf0->spine1"));
  for (const LossResult& loss : jobs[0].lost_to) lost_s[loss.cause] += loss.lost_s;
  EXPECT_NEAR(lost_s[LossCause::kCapacity], 2.5, 1e-3);
  EXPECT_NEAR(lost_s[LossCause::kJob], 3.75, 1e-3);
}

TEST(SprayFailuresTest, AJobThatStartsBeforeAnybodyHasNoticedLosesItsShareToo) {
  SprayedLeaves leaves{.spray = "efficiency: 1, detect_us: 4e6", .events = Down(1, "leaf0->spine0")};
  leaves.job_keys = ", arrival_s: 3";
  // Two of its seven seconds before detection.
  EXPECT_NEAR(leaves.Iterations(), 2 * 0.75 + 5, 1e-6);
  leaves.events = Down(1, "leaf0->spine0") + Up(4, "leaf0->spine0");
  EXPECT_NEAR(leaves.Iterations(), 1 * 0.75 + 6, 1e-6);
}

TEST(SprayFailuresTest, MistakesAreNamed) {
  const auto error = [](const std::string& spray) {
    const std::string text =
        "title: t\nfabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2}\njobs: [{gpus: 16, compute_s: "
        "1}]\nspray: {" +
        spray + "}\n";
    return ParseScenario(text, "t.yaml", {}).status().message();
  };
  EXPECT_EQ(error("preset: mrc"), "");
  EXPECT_NE(error("preset: mcr").find("none, uec, mrc, spectrumx, blind"), std::string::npos);
  EXPECT_NE(error("ooo_nic: false").find("expected either efficiency or loss_per_rtt and bdp_packets"),
            std::string::npos);
  EXPECT_NE(error("preset: uec, ooo_nic: false").find("t.yaml:4: spray.ooo_nic"), std::string::npos);
  EXPECT_EQ(error("ooo_nic: false, efficiency: 0.3"), "");
  EXPECT_EQ(error("ooo_nic: false, loss_per_rtt: 0.01, bdp_packets: 200"), "");
  EXPECT_EQ(error("loss_per_rtt: 0.01, bdp_packets: 200"), "");
  EXPECT_NE(error("ooo_nic: false, loss_per_rtt: 0.01"), "") << "of what";
  EXPECT_NE(error("ooo_nic: true, loss_per_rtt: 0.01, bdp_packets: 200").find("not beside ooo_nic: true"),
            std::string::npos);
  EXPECT_NE(error("ooo_nic: false, loss_per_rtt: 0.01, bdp_packets: 200, efficiency: 0.9").find("not beside"),
            std::string::npos);
  EXPECT_NE(error("detect_us: -1"), "");
  EXPECT_NE(error("paths: 1"), "");
  EXPECT_NE(error("paths: 257"), "");
}

TEST(SprayFailuresTest, NicsThatKeepTheOrderLeaveWhatTheyAreSaidToLeave) {
  // 1 / (1 + 0.01 * 200) = a third.
  EXPECT_NEAR(SprayedLeaves{.spray = "ooo_nic: false, loss_per_rtt: 0.01, bdp_packets: 200"}.Run().jobs[0].iteration_s,
              3, 1e-7);
  EXPECT_NEAR(SprayedLeaves{.spray = "ooo_nic: false, efficiency: 0.5"}.Run().jobs[0].iteration_s, 2, 1e-7);
}

TEST(SprayFailuresTest, MoreThan240PathsAreAllUsed) {
  // 250 uplinks: with 256 paths all carry the same, with 128 only so many, evenly spaced.
  for (const auto& [paths, expected] : {std::pair(256, 250), {128, 128}, {2, 2}}) {
    SprayedLeaves leaves{.spines = 250, .spray = fmt::format("efficiency: 1, paths: {}", paths), .simulate_s = 2};
    size_t num_used = 0;
    for (const LinkResult& link : leaves.Run().links) {
      num_used += link.name.starts_with("leaf0->spine") && link.utilization > 0 ? 1 : 0;
    }
    EXPECT_EQ(num_used, static_cast<size_t>(expected));
  }
}

}  // namespace
}  // namespace fairlead::sim
