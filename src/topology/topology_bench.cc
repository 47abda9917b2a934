// Speed and memory of fabrics and routes at the size of a 100,000-GPU cluster: 7 pods of 14 segments of 128 hosts of 8
// GPUs, two planes, 60 spines per pod and plane, 120 cores per plane (100,352 GPUs, 1,568 leaves, 840 spines, 240
// cores).
#include <benchmark/benchmark.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "base/random.h"
#include "topology/rail_fabric.h"
#include "topology/router.h"

namespace fairlead::topology {
namespace {

RailSpec SpecOf(int64_t gpus) {
  RailSpec spec;
  spec.pods = static_cast<uint32_t>((gpus + 14335) / 14336);
  spec.segments = 14;
  spec.hosts_per_segment = gpus < 14336 ? static_cast<uint32_t>(gpus / 8 / 14) : 128;
  spec.spines = 60;
  spec.cores = spec.pods > 1 ? 120 : 0;
  return spec;
}

// Resident memory of this process, MB; 0 where /proc is not there.
double ResidentMegabytes() {
  long pages = 0;
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<double>(pages) * 4096 / 1e6;
}

const Fabric& LargeFabric() {
  static const Fabric* const fabric = new Fabric(BuildRail(SpecOf(100'000)).value());
  return *fabric;
}

// Pairs of GPUs of one rail on random hosts: what the rings of data-parallel jobs are made of.
std::vector<std::pair<GpuId, GpuId>> RailPairs(const Fabric& fabric, size_t count, size_t num_hosts) {
  Random random(1);
  std::vector<std::pair<GpuId, GpuId>> pairs;
  while (pairs.size() < count) {
    const auto source = static_cast<uint32_t>(random.Below(num_hosts) * 8 + random.Below(8));
    const auto destination = static_cast<uint32_t>(random.Below(num_hosts) * 8 + source % 8);
    if (fabric.host_of(GpuId(source)) != fabric.host_of(GpuId(destination))) {
      pairs.emplace_back(GpuId(source), GpuId(destination));
    }
  }
  return pairs;
}

void BM_BuildRail(benchmark::State& state) {
  const double before = ResidentMegabytes();
  double built = 0;
  for (auto _ : state) {
    const Fabric fabric = BuildRail(SpecOf(state.range(0))).value();
    built = ResidentMegabytes();
    state.counters["links"] = static_cast<double>(fabric.num_links());
    state.counters["gpus"] = static_cast<double>(fabric.num_gpus());
  }
  state.counters["resident_MB"] = built - before;
}
BENCHMARK(BM_BuildRail)->ArgName("gpus")->Arg(1'000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_CreateRouter(benchmark::State& state) {
  const Fabric& fabric = LargeFabric();
  for (auto _ : state) benchmark::DoNotOptimize(Router(fabric));
}
BENCHMARK(BM_CreateRouter)->Unit(benchmark::kMillisecond);

// One link down and up again: what a failure costs before the first path is asked for.
void BM_SetHealth(benchmark::State& state) {
  const Fabric& fabric = LargeFabric();
  Router router(fabric);
  LinkHealth health(fabric.num_links(), 1);
  for (auto _ : state) {
    health[LinkId(0u)] = 1 - health[LinkId(0u)];
    router.SetHealth(health);
  }
}
BENCHMARK(BM_SetHealth)->Unit(benchmark::kMillisecond);

// The first path towards a leaf group: one table.
void BM_ComputeTable(benchmark::State& state) {
  const Fabric& fabric = LargeFabric();
  const Router router(fabric, 0);
  const auto pairs = RailPairs(fabric, 1000, fabric.num_hosts());
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(router.CountPaths(pairs[i].first, pairs[i].second));
    i = (i + 1) % pairs.size();
  }
}
BENCHMARK(BM_ComputeTable)->Unit(benchmark::kMicrosecond);

// Argument: over how many hosts the pairs are spread. One segment's neighbours stay in the processor's cache, all pods
// do not.
template <class Function>
void RunWarm(benchmark::State& state, Function f) {
  const Fabric& fabric = LargeFabric();
  const Router router(fabric);
  const auto pairs = RailPairs(fabric, 100'000, static_cast<size_t>(state.range(0)));
  for (const auto& [source, destination] : pairs) router.CountPaths(source, destination);
  size_t i = 0;
  for (auto _ : state) {
    f(router, pairs[i].first, pairs[i].second, i);
    i = (i + 1) % pairs.size();
  }
  state.counters["resident_MB"] = ResidentMegabytes();
}

void BM_CountPaths(benchmark::State& state) {
  RunWarm(state, [](const Router& router, GpuId source, GpuId destination, size_t) {
    benchmark::DoNotOptimize(router.CountPaths(source, destination));
  });
}
BENCHMARK(BM_CountPaths)->ArgName("hosts")->Arg(256)->Arg(12'544);

void BM_AppendPath(benchmark::State& state) {
  model::Path path;
  RunWarm(state, [&](const Router& router, GpuId source, GpuId destination, size_t i) {
    path.clear();
    router.AppendPath(source, destination, i % router.CountPaths(source, destination), &path);
    benchmark::DoNotOptimize(path.data());
  });
}
BENCHMARK(BM_AppendPath)->ArgName("hosts")->Arg(256)->Arg(12'544);

void BM_AppendEcmpPath(benchmark::State& state) {
  model::Path path;
  RunWarm(state, [&](const Router& router, GpuId source, GpuId destination, size_t i) {
    path.clear();
    const model::FiveTuple tuple{.source_address = source.value(),
                                 .destination_address = destination.value(),
                                 .source_port = static_cast<uint16_t>(i)};
    router.AppendEcmpPath(source, destination, tuple, 1, &path);
    benchmark::DoNotOptimize(path.data());
  });
}
BENCHMARK(BM_AppendEcmpPath)->ArgName("hosts")->Arg(256)->Arg(12'544);

// All candidates of a pair, and the load of every one of their links looked at: the inner loop of path selection.
void BM_FindCandidates(benchmark::State& state) {
  std::vector<double> loads(LargeFabric().num_links(), 1.0);
  uint64_t num_candidates = 0;
  RunWarm(state, [&](const Router& router, GpuId source, GpuId destination, size_t) {
    const PathCandidates candidates = router.FindCandidates(source, destination, 128);
    double worst = 0;
    for (const LinkId link : candidates.middles) worst = std::max(worst, loads[link.index()]);
    benchmark::DoNotOptimize(worst);
    num_candidates += candidates.size();
  });
  state.counters["candidates"] =
      benchmark::Counter(static_cast<double>(num_candidates), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_FindCandidates)->ArgName("hosts")->Arg(256)->Arg(12'544);

}  // namespace
}  // namespace fairlead::topology
