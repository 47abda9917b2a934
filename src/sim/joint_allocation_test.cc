// Scenarios with an allocation policy: laws of the joined simulation of sizes, paths and contention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "scheduling/allocation_registry.h"
#include "sim/elastic/elastic_simulation.h"
#include "sim/scenario.h"
#include "sim/scenario_runner.h"

namespace fairlead::sim {
namespace {

using ::testing::HasSubstr;

// Four hosts of 8 GPUs under two leaves, little bandwidth between them; jobs meet on the uplinks.
constexpr char kContended[] = R"(title: joint
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2, oversubscription: 2}
allocation: [fcfs, tiresias, aiturbo, aiturbo-literal]
policies: [ecmp, crux]
seeds: 1
simulate_s: 40000
extrapolate: true
jobs:
  - {name: a, gpus: 8, sizes: [4, 8, 16, 32], iterations: 900, compute_s: 1, size_mb: 4000, start_fraction: 0.5, collective: hierarchical-all-reduce}
  - {name: b, gpus: 16, sizes: [8, 16], epochs: 3, iterations_per_epoch: 200, model: bert-large, arrival_s: 60, predictable_after: 0.3}
  - {name: c, gpus: 16, min_gpus: 8, max_gpus: 24, iterations: 500, compute_s: 0.5, size_mb: 6000, collective: hierarchical-all-reduce, arrival_s: 100, predictable: false}
  - {name: d, gpus: 4, count: 3, iterations: 400, compute_s: 0.7, size_mb: 100, arrival_s: 200, restart_s: 60}
)";

SimulationReport Simulate(const Scenario& scenario, uint32_t num_threads = 1) {
  const std::atomic<bool> never = false;
  auto report = RunScenario(scenario, {.num_threads = num_threads}, never, nullptr);
  EXPECT_TRUE(report.ok()) << report.status().message();
  return std::move(*report);
}

Scenario Parse(const std::string& text) {
  auto scenario = ParseScenario(text, "s.yaml", {});
  EXPECT_TRUE(scenario.ok()) << scenario.status().message();
  return std::move(*scenario);
}

TEST(JointAllocationTest, AllWorkIsDoneAndNoGpuIsHeldTwice) {
  const Scenario scenario = Parse(kContended);
  const SimulationReport report = Simulate(scenario);
  ASSERT_EQ(report.runs.size(), 8u);
  for (const RunResult& run : report.runs) {
    SCOPED_TRACE(run.policy);
    std::map<double, int64_t> changes;  // GPUs taken or given back, by time
    for (const JobResult& job : run.jobs) {
      const model::Job& asked = scenario.jobs[job.id.index()].job;
      EXPECT_TRUE(job.finished) << job.name;
      EXPECT_EQ(job.iterations, static_cast<double>(asked.num_iterations)) << job.name;
      ASSERT_TRUE(job.allocation.has_value());
      uint32_t held = 0;
      double held_gpu_s = 0, waited_s = 0, since_s = job.arrival_s;
      auto sizes = job.allocation->sizes;
      sizes.push_back({job.end_s, 0, "end"});
      for (const SizeChange& change : sizes) {
        EXPECT_TRUE(change.num_gpus == 0 || std::ranges::count(asked.elasticity.sizes, change.num_gpus) == 1);
        held_gpu_s += held * (change.time_s - since_s);
        waited_s += held == 0 ? change.time_s - since_s : 0;
        changes[change.time_s] += int64_t{change.num_gpus} - held;
        held = change.num_gpus;
        since_s = change.time_s;
      }
      EXPECT_NEAR(job.allocation->held_gpu_s, held_gpu_s, 1e-6) << job.name;
      EXPECT_NEAR(job.allocation->waited_s, waited_s, 1e-6) << job.name;
      EXPECT_LE(job.allocation->busy_gpu_s, held_gpu_s) << job.name;
      // What it computed is at least its work: compute_s at `gpus`, for each iteration.
      if (job.name == "a") {
        EXPECT_GE(job.allocation->busy_gpu_s, 900 * 1.0 * 8 * (1 - 1e-6));
      }
    }
    int64_t held = 0;
    for (const auto& [time_s, change] : changes) {
      held += change;
      EXPECT_LE(held, 32) << "at " << time_s;
      EXPECT_GE(held, 0);
    }
    EXPECT_EQ(held, 0);
  }
}

TEST(JointAllocationTest, SameSeedSameHistoryAtAnyNumberOfThreads) {
  const Scenario scenario = Parse(kContended);
  const SimulationReport one = Simulate(scenario);
  const SimulationReport again = Simulate(scenario, 4);
  std::set<uint64_t> hashes;
  for (size_t i = 0; i < one.runs.size(); ++i) {
    EXPECT_EQ(one.runs[i].event_hash, again.runs[i].event_hash) << one.runs[i].policy;
    EXPECT_EQ(one.runs[i].policy, again.runs[i].policy);
    hashes.insert(one.runs[i].event_hash);
  }
  EXPECT_EQ(one.runs[0].policy, "fcfs+ecmp");
  EXPECT_EQ(one.runs[0].allocation, "fcfs");
  EXPECT_GE(hashes.size(), 4u) << "policies should differ";
}

TEST(JointAllocationTest, OptionsOfPoliciesAreThoseOfTheScenario) {
  const auto with = [](const std::string& more) { return std::string(kContended) + more; };
  const Scenario scenario = Parse(with("allocation_settings: [hold_s=100000, aiturbo.fairness=1]\n"));
  const SimulationReport usual = Simulate(Parse(kContended));
  const SimulationReport changed = Simulate(scenario);
  for (size_t i = 0; i < usual.runs.size(); ++i) {
    const bool is_changed = usual.runs[i].allocation == "aiturbo";
    EXPECT_EQ(usual.runs[i].event_hash != changed.runs[i].event_hash, is_changed) << usual.runs[i].policy;
  }
  const auto message = [&](const std::string& setting) {
    return std::string(
        ParseScenario(with("allocation_settings: [" + setting + "]\n"), "s.yaml", {}).status().message());
  };
  EXPECT_THAT(message("hold=3"), HasSubstr("did you mean"));
  EXPECT_THAT(message("gavel.round_s=3"), HasSubstr("not run"));
  EXPECT_THAT(message("fairness=2"), HasSubstr("expected 0 to 1"));
  std::string fixed = with("allocation_settings: [hold_s=3]\n");
  fixed.erase(fixed.find("allocation: ["),
              std::string("allocation: [fcfs, tiresias, aiturbo, aiturbo-literal]\n").size());
  EXPECT_THAT(std::string(ParseScenario(fixed, "s.yaml", {}).status().message()),
              HasSubstr("only where the scenario has the key allocation"));
}

// Jobs of fixed size that fill hosts, need no network and cost nothing to start: first come, first served by the
// allocation policy and by the controller's own queue are the same.
TEST(JointAllocationTest, FixedSizesUnderFcfsAreTheQueue) {
  const std::string jobs = R"(
title: fixed
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2}
policies: [ecmp]
seeds: 1
simulate_s: 10000
random_phase: false
jobs:
  - {name: a, gpus: 16, iterations: 100, compute_s: 1.5}
  - {name: b, gpus: 8, iterations: 300, compute_s: 1, arrival_s: 5}
  - {name: c, gpus: 24, iterations: 70, compute_s: 2, arrival_s: 9}
  - {name: d, gpus: 8, iterations: 500, compute_s: 0.3, arrival_s: 10)";
  const SimulationReport queue = Simulate(Parse(jobs + "}\n"));
  std::string allocated = jobs + "}\nallocation: fcfs\n";
  for (size_t at = 0; (at = allocated.find("iterations:", at)) != std::string::npos; at += 30) {
    allocated.insert(at, "restart_s: 0, ");
  }
  const SimulationReport fcfs = Simulate(Parse(allocated));
  for (size_t j = 0; j < 4; ++j) {
    EXPECT_EQ(queue.runs[0].jobs[j].start_s, fcfs.runs[0].jobs[j].start_s) << j;
    EXPECT_EQ(queue.runs[0].jobs[j].end_s, fcfs.runs[0].jobs[j].end_s) << j;
    EXPECT_EQ(fcfs.runs[0].jobs[j].allocation->num_restarts, 0u);
    EXPECT_FALSE(queue.runs[0].jobs[j].allocation.has_value());
  }
}

constexpr uint32_t kNumEpochs = 20;  // with ends that the elastic simulator rounds to whole seconds

// An application without synchronisation with an iteration of `gpu_s` seconds on one GPU.
ApplicationProfile LinearApplication(const std::string& name, double iterations, double gpu_s) {
  constexpr uint32_t kBatch = 1 << 10;
  ProfileTables tables;
  tables.name = name;
  tables.limits = {kBatch, kBatch, 1, kBatch};
  tables.num_epochs = kNumEpochs;
  tables.max_gpus = 32;
  for (uint32_t gpus = 1; gpus <= 32; ++gpus) {
    const double local = std::ceil(static_cast<double>(kBatch) / gpus);
    for (const double batch : {1.0, local, static_cast<double>(kBatch)}) {
      tables.placements.push_back({SmallestRotation(DensePlacement(gpus, 8)), batch, {gpu_s / gpus, 0}});
    }
  }
  for (uint32_t e = 1; e <= kNumEpochs; ++e) {
    const double done = iterations * e / kNumEpochs;
    tables.validations[kBatch].push_back({done, done, 1, 0});
  }
  return ApplicationProfile::Create(tables).value();
}

// Without contention the network does not matter: both simulators must agree on completion times, within what the
// elastic one rounds (half a second per epoch, a second per decision) and this one loses (an iteration per restart). A
// job that waits for the end of another one has its rounding, too.
TEST(JointAllocationTest, AgreesWithTheElasticSimulatorWithoutContention) {
  struct Example {
    double arrival_s, iterations, gpu_s;
    uint32_t asks;
  };
  const std::vector<Example> examples = {{10, 1000, 8, 8}, {400, 300, 16, 16}, {900, 2000, 4, 8}, {1000, 500, 8, 4}};
  std::string text = R"(title: law
fabric: {kind: clos2, leaves: 2, hosts_per_leaf: 2, spines: 2}
policies: [ecmp]
seeds: 1
simulate_s: 100000
random_phase: false
allocation: [fcfs, srtf, aiturbo]
jobs:
)";
  ProfileSet profiles;
  std::vector<ElasticJobSpec> workload;
  for (size_t j = 0; j < examples.size(); ++j) {
    const Example& example = examples[j];
    const std::string name = "job" + std::to_string(j);
    text += "  - {name: " + name + ", gpus: " + std::to_string(example.asks) + ", min_gpus: 1, max_gpus: 32" +
            ", iterations: " + std::to_string(static_cast<int>(example.iterations)) +
            ", compute_s: " + std::to_string(example.gpu_s / example.asks) +
            ", arrival_s: " + std::to_string(example.arrival_s) + ", restart_s: 30}\n";
    const auto [profile, is_new] = profiles.emplace(name, LinearApplication(name, example.iterations, example.gpu_s));
    ElasticJobSpec& spec = workload.emplace_back();
    spec.name = name;
    spec.submission_s = example.arrival_s;
    spec.global_batch = 1 << 10;
    spec.profile = &profile->second;
    spec.requested_gpus = example.asks;
  }
  ElasticOptions options;
  options.cluster = {{{4, 8}}, 0, 0};
  options.interval_s = 1;
  options.only_events = true;
  const SimulationReport report = Simulate(Parse(text));
  for (const RunResult& run : report.runs) {
    const auto policy = scheduling::CreateAllocationPolicy(run.allocation, 1).value();
    const auto elastic = RunElasticSimulation(workload, *policy, options);
    ASSERT_TRUE(elastic.ok()) << elastic.status().message();
    for (size_t j = 0; j < examples.size(); ++j) {
      const JobResult& job = run.jobs[j];
      const ElasticJobResult& other = elastic->jobs[j];
      const double rounded_s = 0.5 * kNumEpochs * (other.waited_s > 2 * options.interval_s ? 2 : 1);
      const double tolerance_s = rounded_s + 2.0 * (1 + job.allocation->num_restarts);
      EXPECT_NEAR(job.end_s - job.arrival_s, other.jct_s(), tolerance_s) << run.policy << " job " << j;
      EXPECT_EQ(job.allocation->num_restarts, other.num_restarts) << run.policy << " job " << j;
    }
  }
}

TEST(JointAllocationTest, BadInputNamesLineKeyAndWhatToDo) {
  struct BadAllocation {
    const char* from;
    const char* to;
    const char* message;
  };
  const BadAllocation cases[] = {
      {"allocation: [fcfs, tiresias, aiturbo, aiturbo-literal]", "allocation: magic",
       "s.yaml:3: allocation: expected one of aiturbo, "},
      {"allocation: [fcfs, tiresias, aiturbo, aiturbo-literal]", "allocation: []", "at least one allocation policy"},
      {"allocation: [fcfs, tiresias,", "allocation: [fcfs, fcfs,", "fcfs appears twice"},
      {"allocation: [fcfs, tiresias, aiturbo, aiturbo-literal]", "placement: random",
       "s.yaml:9: jobs[0].sizes: matters only where the scenario has the key allocation"},
      {"seeds: 1", "placement: random", "expected no placement beside allocation"},
      {"seeds: 1", "profile_jobs: true", "s.yaml:5: profile_jobs: expected none beside allocation"},
      {"sizes: [4, 8, 16, 32]", "sizes: [4, 16, 8]",
       "jobs[0].sizes: expected ascending numbers of GPUs; found 8 after 16"},
      {"sizes: [4, 8, 16, 32]", "sizes: [4, 16]", "jobs[0].sizes: expected the 8 GPUs that the job asks for"},
      {"sizes: [4, 8, 16, 32]", "sizes: [8, 64]", "jobs[0].sizes: expected"},
      {"sizes: [4, 8, 16, 32]", "sizes: [8], max_gpus: 16", "expected either sizes, or min_gpus and max_gpus"},
      {"gpus: 8, sizes: [4, 8, 16, 32]", "gpus: 64, sizes: [64]", "at most the 32 GPUs of the cluster, found 64"},
      {"gpus: 8, sizes", "gpus: 8, hosts: [h0], sizes", "jobs[0].hosts: expected none: allocation chooses the hosts"},
      {"iterations: 900", "arrival_s: 0", "allocation is for jobs that end: expected iterations, or epochs"},
      {"epochs: 3, iterations_per_epoch: 200", "epochs: 3",
       "the key 'epochs' matters only beside 'iterations_per_epoch', which is missing"},
      {"epochs: 3,", "epochs: 3, iterations: 5,", "expected either iterations or epochs"},
      {"predictable: false", "predictable: false, predictable_after: 0.5", "either predictable or predictable_after"},
      {"predictable_after: 0.3", "predictable_after: 2", "predictable_after: expected a number in [0, 1]"},
      {"restart_s: 60", "restart_s: -1", "restart_s: expected a number"},
      {"model: bert-large", "model: bert-large, parallelism: {micro_batches: 3}, sizes: [5, 16]", "sizes"},
      // 16 GPUs and one micro-batch each: 12 replicas can't share 16 micro-batches.
      {"sizes: [8, 16]", "sizes: [12, 16]", "jobs[1]: 12 GPUs can't hold"},
      {"model: bert-large", "model: gpt-7b, parallelism: {tensor: 8}",
       "tensor groups of 8 could be torn between hosts"},
      {"min_gpus: 8", "min_gpus: 17", "jobs[2].min_gpus: expected"},
  };
  for (const BadAllocation& bad : cases) {
    std::string text = kContended;
    const size_t at = text.find(bad.from);
    ASSERT_NE(at, std::string::npos) << bad.from;
    const auto scenario = ParseScenario(text.replace(at, std::string_view(bad.from).size(), bad.to), "s.yaml", {});
    ASSERT_FALSE(scenario.ok()) << bad.to;
    EXPECT_THAT(std::string(scenario.status().message()), HasSubstr(bad.message)) << bad.to;
  }
}

}  // namespace
}  // namespace fairlead::sim
