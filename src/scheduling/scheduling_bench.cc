// How long one decision takes: BM_Decide/POLICY/jobs:N/gpus:M.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "scheduling/allocation_policy.h"
#include "scheduling/allocation_registry.h"
#include "scheduling/busy_cluster.h"

namespace fairlead::scheduling {
namespace {

void BM_Decide(benchmark::State& state, const std::string& name) {
  const auto policy = CreateAllocationPolicy(name, 1).value();
  const BusyCluster cluster(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), *policy, 1);
  for (auto _ : state) benchmark::DoNotOptimize(policy->Decide(cluster.snapshot()));
}

[[maybe_unused]] const bool kRegistered = [] {
  for (const std::string_view name : AllocationPolicyNames()) {
    auto* const bench =
        benchmark::RegisterBenchmark(fmt::format("BM_Decide/{}", name).c_str(),
                                     [name](benchmark::State& state) { BM_Decide(state, std::string(name)); });
    bench->ArgNames({"jobs", "gpus"})->Unit(benchmark::kMillisecond);
    bench->Args({100, 1000})->Args({1000, 1024})->Args({1000, 10000});
    // The linear program of Gavel takes minutes there.
    if (name != "gavel") bench->Args({10000, 100000});
  }
  return true;
}();

}  // namespace
}  // namespace fairlead::scheduling
