// How long does a solution take, from nothing and after one completion, and how does that grow?
#include <benchmark/benchmark.h>

#include <vector>

#include "base/random.h"
#include "fluid/flow_network.h"

namespace fairlead::fluid {
namespace {

// The fabric of bench/fwl/generate.py with 4 pods: 512 NICs, two tiers, 2048 links of 200 Gb/s.
constexpr uint32_t kNics = 512;
constexpr double kLinkBytesPerSecond = 25e9;

std::vector<LinkUse> RandomFabricRoute(Random& random) {
  const auto rail = static_cast<uint32_t>(random.Below(8));
  const auto source = static_cast<uint32_t>(random.Below(64)) * 8 + rail;
  const auto destination = static_cast<uint32_t>(random.Below(64)) * 8 + rail;
  const auto leaf = [](uint32_t nic) { return nic / 128 * 8 + nic % 8; };
  if (leaf(source) == leaf(destination)) return {{source}, {kNics + destination}};
  const auto spine = static_cast<uint32_t>(random.Below(16));
  return {{source},
          {2 * kNics + leaf(source) * 16 + spine},
          {3 * kNics + leaf(destination) * 16 + spine},
          {kNics + destination}};
}

FlowNetwork StartedNetwork(int64_t num_flows, Random& random) {
  FlowNetwork network(std::vector<double>(4 * kNics, kLinkBytesPerSecond));
  for (int64_t f = 0; f < num_flows; ++f) {
    network.Start(network.AddFlow(RandomFabricRoute(random)), random.Uniform(0.5e9, 1.5e9));
  }
  return network;
}

// All flows start at once: one solution from nothing.
void BM_Solve(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    Random random(1);
    FlowNetwork network = StartedNetwork(state.range(0), random);
    state.ResumeTiming();
    benchmark::DoNotOptimize(network.NextCompletion());
  }
}
BENCHMARK(BM_Solve)->ArgName("flows")->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMicrosecond);

// A flow ends and starts again: removal, arrival and two solutions, the number of flows staying the same.
void BM_CompleteOne(benchmark::State& state) {
  Random random(1);
  FlowNetwork network = StartedNetwork(state.range(0), random);
  std::vector<FlowId> completed;
  for (auto _ : state) {
    completed.clear();
    network.AdvanceTo(network.NextCompletion(), &completed);
    for (const FlowId flow : completed) network.Start(flow, random.Uniform(0.5e9, 1.5e9));
  }
}
BENCHMARK(BM_CompleteOne)
    ->ArgName("flows")
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10000)
    ->Arg(100000)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fairlead::fluid
