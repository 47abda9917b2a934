// How long one decision takes: BM_Decide/POLICY/jobs:N/gpus:M.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "base/random.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/allocation_registry.h"

namespace fairlead::scheduling {
namespace {

constexpr uint32_t kGpusPerNode = 8;
constexpr uint32_t kMaxGpus = 64;

// A cluster in the middle of its work: the policy has decided once, and a tenth of the jobs is new.
class BusyCluster {
 public:
  BusyCluster(uint32_t num_jobs, uint32_t num_gpus, const AllocationPolicy& policy) {
    Random random(1);
    snapshot.now = SimTime::FromSeconds(Seconds(100000));
    snapshot.nodes.assign(num_gpus / kGpusPerNode, {kGpusPerNode, 128, 0});
    for (uint32_t c = 0; c < 32; ++c) {
      curves_.emplace_back();
      const double power = random.Uniform(0.6, 1);
      for (uint32_t k = 1; k <= kMaxGpus; ++k) curves_.back().push_back({k, 0, std::pow(k, -power)});
    }
    for (uint32_t j = 0; j < num_jobs; ++j) snapshot.jobs.push_back(DrawJob(j, &random));
    const AllocationPlan plan = policy.Decide(snapshot).value();
    for (uint32_t j = 0; j < num_jobs; ++j) {
      snapshot.jobs[j].memory = plan.jobs[j].memory;
      if (j % 10 != 0) snapshot.jobs[j].current = plan.jobs[j].nodes;
    }
    snapshot.now = snapshot.now + SimDuration::FromSeconds(Seconds(600));
  }

  AllocationSnapshot snapshot;

 private:
  AllocationJob DrawJob(uint32_t j, Random* random) {
    AllocationJob job;
    job.id = JobId(j);
    job.submission = SimTime::FromSeconds(Seconds(j));
    job.sizes = curves_[random->Below(curves_.size())];
    job.requested = static_cast<uint32_t>(random->Below(16));
    job.is_predictable = random->Uniform() < 0.6;
    job.remaining_iterations = job.is_predictable ? random->Exponential(50000) : 0;
    job.executed_s = random->Exponential(3000);
    job.attained_service = job.executed_s * (job.requested + 1);
    job.restart_cost_s = 30;
    return job;
  }

  std::deque<std::vector<JobSize>> curves_;
};

void BM_Decide(benchmark::State& state, const std::string& name) {
  const auto policy = CreateAllocationPolicy(name, 1).value();
  const BusyCluster cluster(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)), *policy);
  for (auto _ : state) benchmark::DoNotOptimize(policy->Decide(cluster.snapshot));
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
