// How long a plan takes: paths, priorities and levels of all jobs at once.
#include <benchmark/benchmark.h>

#include <memory>
#include <utility>

#include "base/random.h"
#include "topology/clos_fabrics.h"
#include "traffic/crux/crux_policy.h"
#include "traffic/crux/priority_compression.h"
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

// Jobs share all GPUs evenly, on hosts in random order; each GPU sends to the same GPU of the job's next host.
std::unique_ptr<ExampleCluster> MakeBusyCluster(uint32_t num_jobs, uint32_t num_gpus) {
  auto cluster = std::make_unique<ExampleCluster>(MakeLargeClos(num_gpus));
  Random random(1);
  std::vector<uint32_t> hosts(cluster->fabric().num_hosts());
  for (uint32_t h = 0; h < hosts.size(); ++h) hosts[h] = h;
  random.Shuffle(std::span(hosts));
  const size_t per_job = hosts.size() / num_jobs;
  for (uint32_t j = 0; j < num_jobs; ++j) {
    const double bytes = random.Uniform(1e9, 2e10);
    std::vector<model::FlowDemand> flows;
    for (size_t h = 0; h < per_job; ++h) {
      const uint32_t from = hosts[j * per_job + h];
      const uint32_t to = hosts[j * per_job + (h + 1) % per_job];
      for (uint32_t g = 0; g < 8; ++g) flows.push_back({cluster->gpu(from, g), cluster->gpu(to, g), Bytes(bytes), 0});
    }
    cluster->AddJob(j, random.Uniform(1e14, 1e17), std::move(flows));
  }
  return cluster;
}

void BM_CruxPlan(benchmark::State& state) {
  const auto cluster = MakeBusyCluster(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  const crux::CruxPolicy policy({});
  cluster->Apply(policy.Plan(cluster->Snapshot()));
  for (auto _ : state) benchmark::DoNotOptimize(policy.Plan(cluster->Snapshot()));
}
BENCHMARK(BM_CruxPlan)
    ->ArgNames({"jobs", "gpus"})
    ->Args({60, 4000})
    ->Args({200, 20000})
    ->Args({1000, 100000})
    ->Unit(benchmark::kMillisecond);

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
