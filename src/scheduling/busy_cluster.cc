#include "scheduling/busy_cluster.h"

#include <cmath>

namespace fairlead::scheduling {
namespace {

constexpr uint32_t kGpusPerNode = 8;
constexpr uint32_t kMaxGpus = 64;
constexpr uint32_t kNumCurves = 32;

}  // namespace

BusyCluster::BusyCluster(uint32_t num_jobs, uint32_t num_gpus, const AllocationPolicy& policy, uint64_t seed) {
  Random random(seed);
  snapshot_.now = SimTime::FromSeconds(Seconds(100000));
  snapshot_.nodes.assign(num_gpus / kGpusPerNode, {kGpusPerNode, 128, 0});
  for (uint32_t c = 0; c < kNumCurves; ++c) {
    curves_.emplace_back();
    const double power = random.Uniform(0.6, 1);
    for (uint32_t k = 1; k <= kMaxGpus; ++k) curves_.back().push_back({k, 0, std::pow(k, -power)});
  }
  for (uint32_t j = 0; j < num_jobs; ++j) snapshot_.jobs.push_back(DrawJob(j, &random));
  const AllocationPlan plan = policy.Decide(snapshot_).value();
  for (uint32_t j = 0; j < num_jobs; ++j) {
    snapshot_.jobs[j].memory = plan.jobs[j].memory;
    if (j % 10 != 0) snapshot_.jobs[j].current = plan.jobs[j].nodes;
  }
  snapshot_.now = snapshot_.now + SimDuration::FromSeconds(Seconds(600));
}

AllocationJob BusyCluster::DrawJob(uint32_t number, Random* random) {
  AllocationJob job;
  job.id = JobId(number);
  job.submission = SimTime::FromSeconds(Seconds(number));
  job.sizes = curves_[random->Below(curves_.size())];
  job.requested = static_cast<uint32_t>(random->Below(16));
  job.is_predictable = random->Uniform() < 0.6;
  job.remaining_iterations = job.is_predictable ? random->Exponential(50000) : 0;
  job.executed_s = random->Exponential(3000);
  job.attained_service = job.executed_s * (job.requested + 1);
  job.restart_cost_s = 30;
  return job;
}

}  // namespace fairlead::scheduling
