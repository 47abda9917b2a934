#include "lab/lab_workload.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "collective/collective_kind.h"
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

// What one end says of a channel in one phase: communicator, ranks of sender and receiver, number, connections.
using ChannelBelief = std::tuple<uint64_t, uint32_t, uint32_t, uint32_t, std::vector<uint32_t>>;
// What a worker calls on a communicator.
using Calls = std::vector<std::pair<std::string, uint64_t>>;

uint32_t OwnRank(const CommunicatorPlan& communicator, uint32_t worker) {
  return static_cast<uint32_t>(std::ranges::find(communicator.workers, worker) - communicator.workers.begin());
}

// Both ends say the same of each channel, all that flows is in one, and members of a communicator make the same calls.
void CheckOperations(const LabJob& job, size_t p) {
  std::set<ChannelBelief> sent;
  std::set<ChannelBelief> received;
  std::map<uint64_t, std::map<uint32_t, Calls>> calls;  // [communicator][rank] of collectives
  std::map<uint64_t, size_t> sizes;
  std::map<std::tuple<uint64_t, uint32_t, uint32_t>, std::vector<uint64_t>> transfers[2];  // sends, receives
  for (const LabWorker& worker : job.workers) {
    const TrainerPlan& plan = worker.plan;
    size_t num_carried = 0;
    for (const OperationPlan& operation : plan.phases[p].operations) {
      const CommunicatorPlan& communicator = plan.communicators[operation.communicator];
      const uint32_t own = OwnRank(communicator, plan.worker);
      sizes[communicator.id] = communicator.workers.size();
      if (operation.peer < 0) {
        calls[communicator.id][own].emplace_back(operation.function, operation.bytes);
      } else {
        const auto peer = static_cast<uint32_t>(operation.peer);
        const bool is_send = operation.function == "Send";
        transfers[is_send ? 0 : 1][{communicator.id, is_send ? own : peer, is_send ? peer : own}].push_back(
            operation.bytes);
      }
      for (const ChannelPlan& channel : operation.channels) {
        std::vector<uint32_t> ids;
        for (const uint32_t c : channel.connections) ids.push_back(plan.connections[c].id);
        num_carried += ids.size();
        const uint32_t from = channel.is_send ? own : channel.peer;
        const uint32_t to = channel.is_send ? channel.peer : own;
        EXPECT_TRUE(
            (channel.is_send ? sent : received).insert({communicator.id, from, to, channel.channel, ids}).second);
      }
    }
    size_t num_flowing = 0;
    for (const StreamPlan& stream : plan.phases[p].streams) num_flowing += stream.sends.size() + stream.receives.size();
    EXPECT_EQ(num_carried, num_flowing) << plan.phases[p].name;
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(transfers[0], transfers[1]);
  for (const auto& [id, of_rank] : calls) {
    EXPECT_EQ(of_rank.size(), sizes[id]) << "all take part";
    for (const auto& [rank, own] : of_rank) EXPECT_EQ(own, of_rank.begin()->second);
  }
}

// What is sent is what is received, between the same addresses, in every phase; every plan is one that trainers take.
void CheckConsistent(const LabJob& job) {
  for (size_t p = 0; p < job.workers[0].plan.phases.size(); ++p) CheckOperations(job, p);
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
  const auto jobs = Plan(scenario, 1e-3);
  for (const LabWorker& worker : jobs[0].workers) {
    for (const PhasePlan& phase : worker.plan.phases) {
      for (const StreamPlan& stream : phase.streams) EXPECT_FALSE(stream.pools);
    }
  }
}

TEST(LabWorkload, EveryCollectiveBecomesCallsThatAllItsHostsMake) {
  for (const std::string_view collective : collective::CollectiveNames()) {
    for (const char* queue_pairs : {"1", "3"}) {
      SCOPED_TRACE(std::string(collective) + ", queue pairs " + queue_pairs);
      const auto scenario = Parse(fmt::format(
          "qps_per_connection: {}\n"
          "jobs: [{{name: a, hosts: [h0, h1, h2], gpus: 6, gpus_per_host: 2, compute_s: 0.5, size_mb: 900,\n"
          "        collective: {}}}]\n",
          queue_pairs, collective));
      const LabJob job = Plan(scenario, 1e-3)[0];
      CheckConsistent(job);
      for (const LabWorker& worker : job.workers) {
        ASSERT_EQ(worker.plan.communicators.size(), 1u) << "three hosts that all meet";
        EXPECT_EQ(worker.plan.communicators[0].workers, (std::vector<uint32_t>{0, 1, 2}));
        EXPECT_FALSE(worker.plan.phases[0].operations.empty());
      }
    }
  }
}

// Workers of a start know a communicator by one id, which no other start uses, nor another communicator of this one.
TEST(LabWorkload, EachStartHasCommunicatorsOfItsOwn) {
  const LabJob planned =
      Plan(Parse("jobs: [{name: a, hosts: [h0, h1, h2, h3], gpus: 8, gpus_per_host: 2, compute_s: 0.5,\n"
                 "        size_mb: 900, collective: hierarchical-all-reduce}]\n"),
           1e-3)[0];
  std::set<uint64_t> ids;
  size_t num_communicators = 0;
  for (uint64_t draw = 0; draw < 50; ++draw) {
    LabJob job = planned;
    DrawCommunicatorIds(draw, &job);
    CheckConsistent(job);
    std::set<uint64_t> own;
    for (const LabWorker& worker : job.workers) {
      for (const CommunicatorPlan& communicator : worker.plan.communicators) own.insert(communicator.id);
    }
    num_communicators += own.size();
    ids.insert(own.begin(), own.end());
  }
  EXPECT_GT(num_communicators, 0u);
  EXPECT_EQ(ids.size(), num_communicators);
}

TEST(LabWorkload, ARingOnEachRailIsOneCollectiveOfTwoChannels) {
  const auto scenario = Parse(
      "jobs: [{name: a, hosts: [h0, h1, h2], gpus: 6, gpus_per_host: 2, compute_s: 0.5, size_mb: 900,\n"
      "        collective: hierarchical-all-reduce}]\n");
  const auto jobs = Plan(scenario, 1e-3);
  for (const LabWorker& worker : jobs[0].workers) {
    ASSERT_EQ(worker.plan.phases[0].operations.size(), 1u);
    const OperationPlan& operation = worker.plan.phases[0].operations[0];
    EXPECT_EQ(operation.function, "AllReduce");
    // Between hosts each of two rails moves 2 (3-1)/3 of half the bytes on each of three edges: together what an
    // all-reduce of 900 MB moves between three ranks.
    EXPECT_NEAR(static_cast<double>(operation.bytes), 0.9e6, 5);
    EXPECT_EQ(operation.channels.size(), 4u) << "two rails, both ways";
  }
}

TEST(LabWorkload, StagesSendAndDataGroupsReduce) {
  // Four hosts of two GPUs: two stages of two hosts each, tensor groups inside the hosts.
  const auto scenario = Parse(
      "jobs: [{name: a, gpus: 8, gpus_per_host: 2, model: gpt-1.3b,\n"
      "        parallelism: {tensor: 2, pipeline: 2, data: 2, micro_batches: 4}}]\n");
  const LabJob job = Plan(scenario, 1e-4)[0];
  CheckConsistent(job);
  for (const LabWorker& worker : job.workers) {
    std::set<std::string> functions;
    for (const PhasePlan& phase : worker.plan.phases) {
      for (const OperationPlan& operation : phase.operations) {
        functions.insert(operation.function);
        EXPECT_EQ(worker.plan.communicators[operation.communicator].workers.size(), 2u);
      }
    }
    EXPECT_EQ(functions, (std::set<std::string>{"AllReduce", "Recv", "Send"}));
    EXPECT_EQ(worker.plan.communicators.size(), 2u) << "with its stage's other host, and with the other stage's";
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

// What a simulation plays and a lab would pass over is refused, by its key.
TEST(LabWorkload, KeysThatALabDoesNotPlayAreRefused) {
  const std::string jobs =
      "jobs: [{name: a, hosts: [h0, h1], gpus: 2, gpus_per_host: 1, compute_s: 0.5, size_mb: 900,\n"
      "        collective: ring-all-reduce}]\n";
  const sim::Scenario plain = Parse(jobs);
  const LabPlan plan = PlanLab(plain.fabric, {}).value();
  EXPECT_TRUE(PlanJobs(plain, plan, 0).ok());
  const auto refused = [&](const auto& change) {
    sim::Scenario scenario = plain;
    change(&scenario);
    const auto planned = PlanJobs(scenario, plan, 0);
    return planned.ok() ? "" : planned.status().message();
  };
  EXPECT_THAT(refused([](auto* s) { s->allocations = {"aiturbo"}; }),
              testing::StartsWith("allocation: expected none in a lab"));
  EXPECT_THAT(refused([](auto* s) { s->migration = "monkey-tree"; }), testing::StartsWith("migration: "));
  EXPECT_THAT(refused([](auto* s) { s->background.kv_transfers.emplace_back(); }),
              testing::StartsWith("kv_transfers: "));
  EXPECT_THAT(refused([](auto* s) { s->background.checkpoints[JobId(0u)] = {}; }),
              testing::StartsWith("checkpoint_s: "));
  EXPECT_THAT(refused([](auto* s) { s->slow_gpus[GpuId(0u)] = 2; }), testing::StartsWith("slow_gpus: "));
  EXPECT_THAT(refused([](auto* s) { s->link_events.emplace_back(); }), testing::StartsWith("link_events: "));
}

TEST(LabWorkload, ANameThatNoRunningJobMayHaveIsRefused) {
  const sim::Scenario scenario = Parse(
      "jobs: [{name: 'a b;c', hosts: [h0, h1], gpus: 2, gpus_per_host: 1, compute_s: 0.5, size_mb: 900,\n"
      "        collective: ring-all-reduce}]\n");
  const LabOptions options;
  const auto jobs = PlanJobs(scenario, PlanLab(scenario.fabric, options).value(), 0, QueuePairBytes::kShared);
  EXPECT_EQ(jobs.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(jobs.status().message().find("found 'a b;c'"), std::string::npos) << jobs.status().message();
}

}  // namespace
}  // namespace fairlead::lab
