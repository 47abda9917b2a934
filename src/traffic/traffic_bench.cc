// How long a plan takes: paths, priorities and levels of all jobs at once.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "topology/clos_fabrics.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/crux/priority_compression.h"
#include "traffic/plan_memory.h"
#include "traffic/policy_registry.h"
#include "traffic/traffic_example.h"

namespace fairlead::traffic {
namespace {

// Three layers: pods of 500 hosts of 8 GPUs and 4 NICs under 25 leaves, 16 spines per pod, 128 cores: 16 paths inside a
// pod, 128 between pods.
topology::Fabric MakeLargeClos(uint32_t num_gpus) {
  topology::ClosSpec spec;
  spec.pods = num_gpus / 4000;
  spec.leaves = 25;
  spec.hosts_per_leaf = 20;
  spec.spines = 16;
  spec.cores = 128;
  return topology::BuildClos(spec).value();
}

// A trace's fabric: 346 hosts of 8 GPUs and 4 NICs, two under each of 173 leaves, 16 spines.
topology::Fabric MakeTraceClos() {
  topology::ClosSpec spec;
  spec.leaves = 173;
  spec.hosts_per_leaf = 2;
  spec.spines = 16;
  return topology::BuildClos(spec).value();
}

// Jobs of equally many hosts, drawn at random; each GPU sends to the same GPU of the job's next host. Compute takes 0.1
// to 2 s, sending 0.2 to 1.2 times as long, where two GPUs share a NIC of 200 Gb/s.
std::unique_ptr<ExampleCluster> MakeBusyCluster(topology::Fabric fabric, uint32_t num_jobs, uint32_t hosts_per_job) {
  auto cluster = std::make_unique<ExampleCluster>(std::move(fabric));
  Random random(1);
  std::vector<uint32_t> hosts(cluster->fabric().num_hosts());
  for (uint32_t h = 0; h < hosts.size(); ++h) hosts[h] = h;
  random.Shuffle(std::span(hosts));
  for (uint32_t j = 0; j < num_jobs; ++j) {
    const double compute_s = 0.1 * std::pow(20, random.Uniform());
    const double bytes = compute_s * random.Uniform(0.2, 1.2) * 12.5e9;
    std::vector<model::FlowDemand> flows;
    for (uint32_t h = 0; h < hosts_per_job; ++h) {
      const uint32_t from = hosts[j * hosts_per_job + h];
      const uint32_t to = hosts[j * hosts_per_job + (h + 1) % hosts_per_job];
      for (uint32_t g = 0; g < 8; ++g) flows.push_back({cluster->gpu(from, g), cluster->gpu(to, g), Bytes(bytes), 0});
    }
    cluster->AddJob(j, random.Uniform(1e14, 1e17), std::move(flows), Seconds(compute_s));
  }
  return cluster;
}

// Plans again and again for a cluster on which the policy's plan is in force.
void Replan(const ExampleCluster& cluster, const TrafficPolicy& policy, benchmark::State* state) {
  for (auto _ : *state) benchmark::DoNotOptimize(policy.Plan(cluster.Snapshot()));
}

void BM_CruxPlan(benchmark::State& state) {
  const auto num_jobs = static_cast<uint32_t>(state.range(0));
  const auto num_gpus = static_cast<uint32_t>(state.range(1));
  const auto cluster = MakeBusyCluster(MakeLargeClos(num_gpus), num_jobs, num_gpus / 8 / num_jobs);
  const crux::CruxPolicy policy({});
  cluster->Apply(policy.Plan(cluster->Snapshot()));
  Replan(*cluster, policy, &state);
}
BENCHMARK(BM_CruxPlan)
    ->ArgNames({"jobs", "gpus"})
    ->Args({10, 4000})
    ->Args({60, 4000})
    ->Args({10, 100000})
    ->Args({100, 20000})
    ->Args({200, 20000})
    ->Args({100, 100000})
    ->Args({1000, 100000})
    ->Unit(benchmark::kMillisecond);

// A cluster of BM_CruxPlan in which one job after the other, drawn at random, leaves and comes back, with and without
// memory; all jobs choose paths every time (`moved` -1), or at most `moved` of those that run.
class ComingAndGoing {
 public:
  explicit ComingAndGoing(const benchmark::State& state)
      : num_jobs_(static_cast<uint32_t>(state.range(0))),
        remembers_(state.range(2) != 0),
        cluster_(MakeBusyCluster(MakeLargeClos(static_cast<uint32_t>(state.range(1))), num_jobs_,
                                 static_cast<uint32_t>(state.range(1)) / 8 / num_jobs_)),
        policy_(MakeOptions(state.range(3))),
        in_force_(num_jobs_),
        away_(num_jobs_) {
    for (int i = 0; i < 2; ++i) Adopt(Plan());
  }

  void TakeJobAway() {
    away_ = static_cast<uint32_t>(random_.Below(num_jobs_));
    in_force_[away_] = JobPlan();
  }
  void BringItBack() { away_ = num_jobs_; }
  TrafficPlan Plan() {
    views_.clear();
    for (const JobView& job : cluster_->Snapshot().jobs) {
      const uint32_t j = job.id.value();
      if (j == away_) continue;
      views_.push_back(job);
      views_.back().paths = in_force_[j].paths;
      views_.back().level = in_force_[j].level;
    }
    TrafficSnapshot snapshot = cluster_->Snapshot();
    snapshot.jobs = views_;
    return remembers_ ? policy_.PlanAgain(snapshot, &memory_) : policy_.Plan(snapshot);
  }
  void Adopt(TrafficPlan plan) {
    for (JobPlan& job : plan.jobs) in_force_[job.id.value()] = std::move(job);
  }

 private:
  static crux::CruxOptions MakeOptions(int64_t max_moved_jobs) {
    crux::CruxOptions options;
    if (max_moved_jobs >= 0) options.paths.max_moved_jobs = static_cast<uint32_t>(max_moved_jobs);
    return options;
  }

  const uint32_t num_jobs_;
  const bool remembers_;
  const std::unique_ptr<ExampleCluster> cluster_;
  const crux::CruxPolicy policy_;
  PlanMemory memory_;
  std::vector<JobPlan> in_force_;  // [job]
  std::vector<JobView> views_;     // of the last plan
  uint32_t away_;                  // the job that is, or none
  Random random_{7};
};

void BM_OneArrival(benchmark::State& state) {
  ComingAndGoing cluster(state);
  for (auto _ : state) {
    state.PauseTiming();
    cluster.TakeJobAway();
    cluster.Adopt(cluster.Plan());
    cluster.BringItBack();
    state.ResumeTiming();
    cluster.Adopt(cluster.Plan());
  }
}

void BM_OneDeparture(benchmark::State& state) {
  ComingAndGoing cluster(state);
  for (auto _ : state) {
    cluster.TakeJobAway();
    cluster.Adopt(cluster.Plan());
    state.PauseTiming();
    cluster.BringItBack();
    cluster.Adopt(cluster.Plan());
    state.ResumeTiming();
  }
}

#define FL_ONE_CHANGE(name)                                 \
  BENCHMARK(name)                                           \
      ->ArgNames({"jobs", "gpus", "memory", "moved"})       \
      ->ArgsProduct({{100}, {12000}, {0, 1}, {-1, 0, 4}})   \
      ->ArgsProduct({{1000}, {100000}, {0, 1}, {-1, 0, 4}}) \
      ->Iterations(16)                                      \
      ->Unit(benchmark::kMillisecond)
FL_ONE_CHANGE(BM_OneArrival);
FL_ONE_CHANGE(BM_OneDeparture);

// What the simulation of a trace pays at every arrival and departure: 30 jobs of 24 GPUs.
void BM_TracePlan(benchmark::State& state, std::string_view name) {
  const auto cluster = MakeBusyCluster(MakeTraceClos(), static_cast<uint32_t>(state.range(0)), 3);
  const auto policy = CreatePolicy(name, {}).value();
  cluster->Apply(policy->Plan(cluster->Snapshot()));
  Replan(*cluster, *policy, &state);
}
#define FL_TRACE_PLAN(name, policy)             \
  BENCHMARK_CAPTURE(BM_TracePlan, name, policy) \
      ->ArgName("jobs")                         \
      ->Arg(10)                                 \
      ->Arg(30)                                 \
      ->Arg(100)                                \
      ->Unit(benchmark::kMicrosecond)
FL_TRACE_PLAN(ecmp, "ecmp");
FL_TRACE_PLAN(sincronia, "sincronia");
FL_TRACE_PLAN(varys, "varys");
FL_TRACE_PLAN(taccl_star, "taccl-star");
FL_TRACE_PLAN(cassini, "cassini");
FL_TRACE_PLAN(crux_pa, "crux-pa");
FL_TRACE_PLAN(crux, "crux");

void BM_Compress(benchmark::State& state) {
  crux::ContentionDag dag;
  dag.num_jobs = static_cast<uint32_t>(state.range(0));
  Random random(1);
  for (uint32_t upper = 0; upper < dag.num_jobs; ++upper) {
    const double weight = random.Exponential(1);
    for (uint32_t lower = upper + 1; lower < dag.num_jobs; ++lower) {
      if (random.Uniform() < 0.5) dag.edges.push_back({upper, lower, weight});
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(crux::CompressPriorities(dag, 8, {}, 1));
}
BENCHMARK(BM_Compress)->ArgName("jobs")->Arg(200)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fairlead::traffic
