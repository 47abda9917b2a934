#include "lab/lab_workload.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "sim/scenario.h"

namespace fairlead::lab {
namespace {

// Four hosts of two GPUs and two NICs on two leaves.
constexpr const char* kFabric =
    "title: t\n"
    "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, uplink_gbps: 200,\n"
    "         host: {gpus: 2, nics: 2, pcie_switches: 2, sockets: 1, nvlink_gigabytes_per_s: 100}}\n"
    "random_phase: false\n";

sim::Scenario Parse(const std::string& rest) {
  auto scenario = sim::ParseScenario(kFabric + rest, "test.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  return std::move(scenario).value();
}

std::vector<LabJob> Plan(const sim::Scenario& scenario, double scale, QueuePairBytes bytes = QueuePairBytes::kShared) {
  LabOptions options;
  options.scale = scale;
  auto jobs = PlanJobs(scenario, PlanLab(scenario.fabric, options).value(), 0, bytes);
  EXPECT_TRUE(jobs.ok()) << jobs.status().message();
  return std::move(jobs).value();
}

// What one end of a connection believes of it in one phase.
using Belief = std::tuple<std::string, std::string, uint64_t, bool>;

// What is sent is what is received, between the same addresses, in every phase; every plan is one that trainers take.
void CheckConsistent(const LabJob& job) {
  for (size_t p = 0; p < job.workers[0].plan.phases.size(); ++p) {
    std::map<uint32_t, Belief> sent;
    std::map<uint32_t, Belief> received;
    for (const LabWorker& worker : job.workers) {
      const auto read = ReadTrainerPlan(WriteTrainerPlan(worker.plan), "plan");
      EXPECT_TRUE(read.ok()) << read.status().message();
      for (const StreamPlan& stream : worker.plan.phases[p].streams) {
        for (const TransferPlan& t : stream.sends) {
          const ConnectionPlan& c = worker.plan.connections[t.connection];
          EXPECT_TRUE(sent.insert({c.id, {c.from, c.to, t.bytes, stream.pools}}).second);
        }
        for (const TransferPlan& t : stream.receives) {
          const ConnectionPlan& c = worker.plan.connections[t.connection];
          EXPECT_TRUE(received.insert({c.id, {c.from, c.to, t.bytes, stream.pools}}).second);
        }
      }
    }
    EXPECT_EQ(sent, received);
  }
}

uint64_t BytesSent(const LabJob& job) {
  uint64_t bytes = 0;
  for (const LabWorker& worker : job.workers) {
    for (const PhasePlan& phase : worker.plan.phases) {
      for (const StreamPlan& stream : phase.streams) {
        for (const TransferPlan& transfer : stream.sends) bytes += transfer.bytes;
      }
    }
  }
  return bytes;
}

TEST(LabWorkload, RingOverThreeHosts) {
  const auto scenario = Parse(
      "qps_per_connection: 2\n"
      "jobs: [{name: a, hosts: [h0, h1, h2], gpus: 3, gpus_per_host: 1, compute_s: 0.5, size_mb: 900,\n"
      "        collective: ring-all-reduce}]\n");
  const LabJob job = Plan(scenario, 1e-3)[0];
  ASSERT_EQ(job.workers.size(), 3u);
  CheckConsistent(job);
  // Ring all-reduce of S over n: every edge carries 2 (n-1)/n S = 4/3 x 900 MB, a thousandth of it here; three edges.
  EXPECT_NEAR(static_cast<double>(BytesSent(job)), 3 * 1.2e6, 6);
  for (const LabWorker& worker : job.workers) {
    EXPECT_DOUBLE_EQ(worker.plan.compute_s, 0.5);
    ASSERT_EQ(worker.plan.phases.size(), 1u);
    ASSERT_EQ(worker.plan.phases[0].streams.size(), 1u);
    const StreamPlan& stream = worker.plan.phases[0].streams[0];
    EXPECT_EQ(stream.sends.size(), 2u) << "queue pairs";
    // 2 (n-1) = 4 steps; no more than one ahead.
    EXPECT_EQ(stream.parts, 4 * stream.lead);
  }
}

TEST(LabWorkload, QueuePairsOfAConnectionShareItsBytes) {
  // Two GPUs of a host on NICs of their own: two rings, each with pools of its NICs.
  for (const char* collective : {"ring-all-reduce", "all-to-all"}) {
    const auto scenario = Parse(
        std::string("qps_per_connection: 4\n"
                    "jobs: [{name: a, hosts: [h0, h1, h2], gpus: 6, gpus_per_host: 2, compute_s: 0.5, size_mb: 900,\n"
                    "        collective: ") +
        collective + "}]\n");
    const LabJob shared = Plan(scenario, 1e-3)[0];
    const LabJob fixed = Plan(scenario, 1e-3, QueuePairBytes::kFixed)[0];
    CheckConsistent(shared);
    EXPECT_EQ(BytesSent(shared), BytesSent(fixed));
    for (size_t w = 0; w < shared.workers.size(); ++w) {
      TrainerPlan plan = shared.workers[w].plan;
      for (PhasePlan& phase : plan.phases) {
        for (StreamPlan& stream : phase.streams) {
          EXPECT_TRUE(stream.pools);
          for (const Pool& pool : PoolsOf(plan.connections, stream.sends, true)) {
            EXPECT_EQ(pool.connections.size() % 4, 0u);
          }
          stream.pools = false;
        }
      }
      EXPECT_EQ(plan, fixed.workers[w].plan) << "nothing else differs";
    }
  }
}

TEST(LabWorkload, OneQueuePairHasNothingToShare) {
  const auto scenario = Parse(
      "jobs: [{name: a, hosts: [h0, h2], gpus: 2, gpus_per_host: 1, compute_s: 0.5, size_mb: 900,\n"
      "        collective: ring-all-reduce}]\n");
  for (const LabWorker& worker : Plan(scenario, 1e-3)[0].workers) {
    for (const PhasePlan& phase : worker.plan.phases) {
      for (const StreamPlan& stream : phase.streams) EXPECT_FALSE(stream.pools);
    }
  }
}

TEST(LabWorkload, WhatStaysInsideAHostTakesTheTimeOfNvlink) {
  const auto scenario = Parse(
      "jobs: [{name: a, hosts: [h0], gpus: 2, gpus_per_host: 2, compute_s: 0.1, size_mb: 1000,\n"
      "        collective: ring-all-reduce}]\n");
  const LabJob job = Plan(scenario, 1e-3)[0];
  ASSERT_EQ(job.workers.size(), 1u);
  EXPECT_TRUE(job.workers[0].plan.connections.empty());
  // Two GPUs: each sends 2 (2-1)/2 S = 1 GB at 100 GB/s, whatever the scale.
  EXPECT_NEAR(job.workers[0].plan.phases[0].local_s, 0.01, 1e-9);
}

TEST(LabWorkload, JobsListenOnPortsOfTheirOwn) {
  const auto scenario = Parse(
      "jobs: [{name: a, gpus: 4, gpus_per_host: 2, compute_s: 0.1, size_mb: 100, collective: all-to-all, count: 2}]\n");
  std::set<uint16_t> ports;
  for (const LabJob& job : Plan(scenario, 1e-3)) {
    CheckConsistent(job);
    EXPECT_TRUE(ports.insert(job.workers[0].plan.listen_port).second);
    for (const LabWorker& worker : job.workers) {
      for (const ConnectionPlan& c : worker.plan.connections) EXPECT_EQ(c.port, worker.plan.listen_port);
      EXPECT_EQ(worker.plan.listen_addresses.size(), 2u);
    }
  }
  EXPECT_EQ(ports.size(), 2u);
}

TEST(LabWorkload, TheScenarioMustBeThatOfTheLab) {
  const auto scenario = Parse(
      "jobs: [{name: a, gpus: 4, compute_s: 0.1, size_mb: 100, gpus_per_host: 2, collective: ring-all-reduce}]\n");
  LabPlan plan = PlanLab(scenario.fabric, {}).value();
  plan.cables[CableId(0u)].bits_per_s *= 2;
  const auto jobs = PlanJobs(scenario, plan, 0);
  ASSERT_FALSE(jobs.ok());
  EXPECT_NE(jobs.status().message().find("lab up"), std::string::npos);
}

}  // namespace
}  // namespace fairlead::lab
