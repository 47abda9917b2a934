#include "sim/background_traffic.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>

#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using ::testing::HasSubstr;

// Hosts h0..h3 below leaf 0, h4..h7 below leaf 1; NICs and uplinks of 1e9 byte/s.
std::string Text(const std::string& keys, double simulate_s, uint32_t spines = 1) {
  return fmt::format(
      "title: beside training\nseeds: 1\nsimulate_s: {}\nrandom_phase: false\ngoodput: 1\nspray: {{efficiency: 1}}\n"
      "fabric: {{kind: clos2, leaves: 2, hosts_per_leaf: 4, spines: {}, uplink_gbps: 8, host: {{gpus: 1, nics: 1, "
      "port_gbps: 8, pcie_switches: 1, sockets: 1}}}}\n{}",
      simulate_s, spines, keys);
}

RunResult RunOf(const std::string& keys, double simulate_s, uint32_t spines = 1, const std::string& policy = "ecmp") {
  const auto scenario = ParseScenario(Text(keys + "policies: [" + policy + "]\n", simulate_s, spines), "s.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  const std::atomic<bool> never = false;
  return std::move(RunScenario(*scenario, {.num_threads = 1}, never, nullptr)->runs.front());
}

std::string ErrorOf(const std::string& keys) { return ParseScenario(Text(keys, 10), "s.yaml", {}).status().message(); }

constexpr const char* kIdleJob = "jobs: [{name: a, hosts: [h0, h4], gpus: 2, compute_s: 1}]\n";

// Kv transfers from h1 to h5 of 0.1 s each.
std::string Chat(double per_s, double sigma, uint32_t level = 7) {
  return fmt::format(
      "kv_transfers: [{{name: chat, from: [h1], to: [h5], per_s: {}, bytes_per_token: 100000, sigma: {}, level: "
      "{}}}]\n",
      per_s, sigma, level);
}

TEST(BackgroundTrafficTest, MessagesAloneTakeTheirBytes) {
  const RunResult run = RunOf(kIdleJob + Chat(0.2, 0), 500);
  ASSERT_EQ(run.background.size(), 1u);
  const BackgroundResult& chat = run.background[0];
  EXPECT_EQ(chat.name, "chat");
  EXPECT_NEAR(static_cast<double>(chat.num_messages), 100, 40);
  EXPECT_NEAR(chat.p50_s, 0.1, 1e-8);
  EXPECT_NEAR(chat.gigabytes, 0.1 * static_cast<double>(chat.num_messages), 1e-6);
  EXPECT_EQ(run.jobs[0].slowdown, 1);
}

// Requests that share a link are the queue M/G/1 with processor sharing: however long they are, each takes 1/(1-load)
// times as long as alone.
TEST(BackgroundTrafficTest, ManyRequestsAreAQueueWithProcessorSharing) {
  for (const double sigma : {0.0, 0.7}) {
    const double mean_s = 0.1 * std::exp(sigma * sigma / 2);
    const RunResult run = RunOf(kIdleJob + Chat(0.5 / mean_s, sigma), 1500);
    EXPECT_GT(run.background[0].num_messages, 4000u);
    EXPECT_NEAR(run.background[0].mean_slowdown, 2, 0.15) << sigma;
    EXPECT_NEAR(run.background[0].mean_s, 2 * mean_s, 0.25 * mean_s) << sigma;
  }
}

// A job on the same uplink, at the same level: what it loses, it loses to them.
TEST(BackgroundTrafficTest, JobsLoseTimeToMessages) {
  const std::string job = "jobs: [{name: a, hosts: [h0, h4], gpus: 2, compute_s: 0.5, size_mb: 500}]\n";
  const RunResult equal = RunOf(job + Chat(4, 0, 0), 200);
  EXPECT_GT(equal.jobs[0].slowdown, 1.1);
  ASSERT_EQ(equal.jobs[0].lost_to.size(), 1u);
  EXPECT_EQ(equal.jobs[0].lost_to[0].cause, LossCause::kBackground);
  EXPECT_FALSE(equal.jobs[0].lost_to[0].culprit.valid());
  EXPECT_NEAR(equal.jobs[0].lost_to[0].lost_s, equal.jobs[0].lost_s, 1e-6 * equal.jobs[0].lost_s);
  // On a lower level they wait instead.
  const RunResult below = RunOf(job + Chat(4, 0, 7), 200);
  EXPECT_NEAR(below.jobs[0].slowdown, 1, 1e-9);
  EXPECT_GT(below.background[0].mean_s, equal.background[0].mean_s * 1.2);
  EXPECT_EQ(below.background[0].num_messages + below.background[0].num_unfinished,
            equal.background[0].num_messages + equal.background[0].num_unfinished);
}

// Two GPUs write 2 GB to one storage host: 2 s.
TEST(BackgroundTrafficTest, CheckpointsAreWrittenBesideTraining) {
  const std::string keys =
      "storage: {hosts: [h7]}\n"
      "jobs: [{name: a, hosts: [h0, h4], gpus: 2, compute_s: 1, checkpoint_s: 10, checkpoint_mb: 2000}]\n";
  const RunResult run = RunOf(keys, 61);
  ASSERT_EQ(run.background.size(), 1u);
  EXPECT_EQ(run.background[0].name, "checkpoints");
  EXPECT_EQ(run.background[0].num_messages, 5u);  // at 10, 20, .. 50
  EXPECT_EQ(run.background[0].num_unfinished, 1u);
  EXPECT_NEAR(run.background[0].max_s, 2, 1e-8);
  EXPECT_NEAR(run.background[0].mean_slowdown, 1, 1e-8);
  EXPECT_EQ(run.jobs[0].slowdown, 1);
  // Each 1.5 s: every second one is due while the one before is being written.
  const RunResult often = RunOf(
      "storage: {hosts: [h7]}\n"
      "jobs: [{name: a, hosts: [h0, h4], gpus: 2, compute_s: 1, checkpoint_s: 1.5, checkpoint_mb: 2000}]\n",
      30);
  EXPECT_EQ(often.background[0].num_messages, 9u);  // at 1.5, 4.5, .. 25.5; that of 28.5 has not ended
  EXPECT_EQ(often.background[0].num_messages + often.background[0].num_unfinished, 10u);
  EXPECT_EQ(often.background[0].num_skipped, 9u);
}

TEST(BackgroundTrafficTest, ModelsHaveASizeOfTheirOwn) {
  const auto scenario = ParseScenario(
      Text("storage: {hosts: [h7]}\njobs: [{name: a, gpus: 4, model: gpt-1.3b, checkpoint_s: 30min}]\n", 10), "s.yaml",
      {});
  ASSERT_TRUE(scenario.ok()) << scenario.status().message();
  const double bytes = scenario->background.checkpoints.at(JobId(0)).bytes.value();
  EXPECT_NEAR(bytes, 14 * 1.3e9, 14 * 0.1e9);
}

// Sprayed over two spines a message is as fast as its NIC, hashed it has an uplink of half of that for itself.
TEST(BackgroundTrafficTest, MessagesGoWhereTheFabricSendsFlows) {
  const std::string keys = kIdleJob + Chat(0.2, 0);
  const std::string wide =
      "fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 4, spines: 2, uplink_gbps: 4, host: {gpus: "
      "1, nics: 1, port_gbps: 8, pcie_switches: 1, sockets: 1}}\n";
  const auto p50 = [&](const std::string& policy) {
    const std::string text = "title: t\nseeds: 1\nsimulate_s: 300\ngoodput: 1\nspray: {efficiency: 1}\npolicies: [" +
                             policy + "]\n" + wide + keys;
    const Scenario scenario = ParseScenario(text, "s.yaml", {}).value();
    const std::atomic<bool> never = false;
    return RunScenario(scenario, {.num_threads = 1}, never, nullptr)->runs[0].background[0].p50_s;
  };
  EXPECT_NEAR(p50("spray"), 0.1, 1e-8);
  EXPECT_NEAR(p50("crux+spray"), 0.1, 1e-8);
  EXPECT_NEAR(p50("ethereal"), 0.1, 1e-8);
  for (const char* policy : {"ecmp", "crux", "c4p", "flowlet", "mltcp", "varys", "cassini"}) {
    EXPECT_NEAR(p50(policy), 0.2, 1e-8) << policy;
  }
}

// Half of the paths fail and come back: messages go on over the other.
TEST(BackgroundTrafficTest, MessagesLeaveLinksThatFail) {
  const RunResult run =
      RunOf(kIdleJob + Chat(1, 0) +
                "link_events: [{at_s: 50, node: spine0, health: 0}, {at_s: 60, node: spine0, health: 1}, "
                "{at_s: 70, node: spine1, health: 0}]\n",
            100, 2);
  EXPECT_GT(run.background[0].num_messages, 70u);
  EXPECT_LE(run.background[0].num_unfinished, 1u);
  EXPECT_LT(run.background[0].max_s, 1);
  // Nowhere to go: they wait.
  const RunResult cut = RunOf(kIdleJob + Chat(1, 0) + "link_events: [{at_s: 50, node: spine0, health: 0}]\n", 100, 1);
  EXPECT_GT(cut.background[0].num_unfinished, 30u);
}

// Messages are rounds of an iteration like those of jobs: the bytes that links carried are theirs.
TEST(BackgroundTrafficTest, LinksCarryTheirBytes) {
  const RunResult run = RunOf(kIdleJob + Chat(1, 0.5), 200);
  double uplink_bytes = 0;
  for (const LinkResult& link : run.links) {
    if (link.name == "leaf0->spine0") uplink_bytes = link.utilization * link.capacity_bytes_per_s * 200;
  }
  EXPECT_GT(run.background[0].num_messages, 100u);
  EXPECT_NEAR(uplink_bytes / 1e9, run.background[0].gigabytes,
              0.2 * static_cast<double>(run.background[0].num_unfinished) + 1e-6);
}

TEST(BackgroundTrafficTest, LatencyIsOfMessagesToo) {
  const RunResult run = RunOf(kIdleJob + Chat(0.2, 0) + "latency: {ends_us: 1e5, hop_us: 1e4}\n", 300);
  EXPECT_NEAR(run.background[0].p50_s, 0.1 + 0.1 + 3 * 0.01, 1e-8);
}

TEST(BackgroundTrafficTest, HostsOfStorageAndServingBelongToNoJob) {
  for (const char* placement : {"locality-first", "random"}) {
    const RunResult run = RunOf(fmt::format("placement: {}\nstorage: {{hosts: [h0]}}\n"
                                            "jobs: [{{gpus: 5, gpus_per_host: 1, compute_s: 1, size_mb: 10}}]\n",
                                            placement) +
                                    Chat(1, 0),
                                20);
    EXPECT_GT(run.jobs[0].iterations, 10);
    for (const LinkResult& link : run.links) {
      const bool is_of_reserved =
          link.name.starts_with("h0/") || link.name.starts_with("h1/") || link.name.starts_with("h5/");
      EXPECT_TRUE(link.jobs.empty() || !is_of_reserved) << link.name << " " << placement;
    }
  }
  EXPECT_THAT(ErrorOf("storage: {hosts: [h0]}\njobs: [{gpus: 8, gpus_per_host: 1, compute_s: 1}]\n"),
              HasSubstr("needs 8 hosts with 1 GPUs each; the cluster has 7"));
  EXPECT_THAT(ErrorOf("storage: {hosts: [h0]}\njobs: [{gpus: 1, hosts: [h0], compute_s: 1}]\n"),
              HasSubstr("the host 'h0' is one of storage or of kv_transfers"));
}

TEST(BackgroundTrafficTest, MistakesAreNamed) {
  EXPECT_THAT(ErrorOf(kIdleJob + std::string("kv_transfers: [{from: [h1], to: [h1], per_s: 1, model: gpt-7b}]\n")),
              HasSubstr("expected other hosts than in `from`"));
  EXPECT_THAT(ErrorOf(kIdleJob + std::string("kv_transfers: [{from: [h1], to: [h9], per_s: 1, model: gpt-7b}]\n")),
              HasSubstr("there is no host 'h9'"));
  EXPECT_THAT(ErrorOf(kIdleJob + std::string("kv_transfers: [{from: [h1], to: [h2], per_s: 1, model: resnet-50}]\n")),
              HasSubstr("expected a transformer"));
  EXPECT_THAT(ErrorOf(kIdleJob + std::string("kv_transfers: [{from: [h1], to: [h2], per_s: 1}]\n")),
              HasSubstr("bytes_per_token"));
  EXPECT_THAT(ErrorOf(kIdleJob + std::string("levels: 4\n") + Chat(1, 0, 4)),
              HasSubstr("expected one of the 4 levels"));
  EXPECT_THAT(ErrorOf("jobs: [{gpus: 1, compute_s: 1, checkpoint_s: 10, checkpoint_mb: 1}]\n"),
              HasSubstr("expected `storage`"));
  EXPECT_THAT(ErrorOf("storage: {hosts: [h7]}\njobs: [{gpus: 1, compute_s: 1, checkpoint_s: 10}]\n"),
              HasSubstr("expected checkpoint_mb"));
  EXPECT_THAT(ErrorOf(kIdleJob + Chat(1, 0) + "detail: agents\n"), HasSubstr("beside detail: agents"));
  // The same where a command asks for agents.
  Scenario scenario = ParseScenario(Text(kIdleJob + Chat(1, 0), 10), "s.yaml", {}).value();
  scenario.simulates_agents = true;
  scenario.policies = {"ecmp"};
  EXPECT_THAT(CheckAgents(scenario).message(), HasSubstr("leave kv_transfers"));
  EXPECT_THAT(ErrorOf("allocation: fcfs\nstorage: {hosts: [h7]}\njobs: [{gpus: 1, compute_s: 1, iterations: 5}]\n"),
              HasSubstr("beside allocation"));
}

}  // namespace
}  // namespace fairlead::sim
