// Clusters and jobs for the tests of allocation policies.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/random.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/job_sizes.h"

namespace fairlead::scheduling {

// A snapshot that owns what it borrows.
class ExampleSnapshot {
 public:
  explicit ExampleSnapshot(uint32_t num_nodes = 4, uint32_t gpus_per_node = 4, uint32_t cores_per_node = 64) {
    snapshot.now = SimTime::FromSeconds(Seconds(10000));
    snapshot.nodes.assign(num_nodes, {gpus_per_node, cores_per_node, 0});
  }

  // T(k) = 1 / k^power for k = 1 .. max_gpus: 1 scales perfectly, 0 not at all.
  AllocationJob& AddJob(uint32_t max_gpus, double power, double remaining_iterations, uint32_t cores_per_gpu = 0) {
    std::vector<JobSize> sizes;
    for (uint32_t k = 1; k <= max_gpus; ++k) sizes.push_back({k, k * cores_per_gpu, std::pow(k, -power)});
    return AddJobWith(std::move(sizes), remaining_iterations);
  }

  AllocationJob& AddJobWith(std::vector<JobSize> sizes, double remaining_iterations) {
    sizes_.push_back(std::move(sizes));
    AllocationJob job;
    job.id = JobId(snapshot.jobs.size());
    job.submission = SimTime::FromSeconds(Seconds(static_cast<double>(snapshot.jobs.size())));
    job.waiting_since = job.submission;
    job.sizes = sizes_.back();
    job.is_predictable = true;
    job.remaining_iterations = remaining_iterations;
    job.restart_cost_s = 30;
    snapshot.jobs.push_back(job);
    return snapshot.jobs.back();
  }

  // Carries the plan out, and lets `seconds` pass: as a caller would.
  void Apply(const AllocationPlan& plan, double seconds) {
    for (size_t j = 0; j < snapshot.jobs.size(); ++j) {
      AllocationJob& job = snapshot.jobs[j];
      const JobGrant& grant = plan.jobs[j];
      job.memory = grant.memory;
      if (grant.nodes != job.current) {
        job.resized_at = snapshot.now;
        if (grant.nodes.empty()) job.waiting_since = snapshot.now;
        if (!job.is_running()) job.running_since = snapshot.now;
        job.num_restarts += job.is_running() && !grant.nodes.empty() ? 1 : 0;
        job.current = grant.nodes;
      }
      if (job.is_running()) {
        job.executed_s += seconds;
        job.attained_service += seconds * snapshot.units.Of(CurrentResources(job));
        const auto size = FindCurrentSize(job);
        if (size) {
          const double done = seconds / job.sizes[*size].iteration_s;
          job.remaining_iterations = std::max(1.0, job.remaining_iterations - done);
        }
      }
    }
    snapshot.memory = plan.memory;
    snapshot.now = snapshot.now + SimDuration::FromSeconds(Seconds(seconds));
    snapshot.trigger = Trigger::kRound;
  }

  AllocationSnapshot snapshot;

 private:
  std::deque<std::vector<JobSize>> sizes_;  // stable addresses
};

// Some nodes, some jobs of any kind, some of which are unpredictable.
inline ExampleSnapshot DrawSnapshot(uint64_t seed) {
  Random random(seed);
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random.Below(n)); };
  ExampleSnapshot example(1 + below(8), 1 + below(8), 16 + below(64));
  const uint32_t num_jobs = below(30);
  const bool needs_cores = seed % 3 == 0;
  for (uint32_t j = 0; j < num_jobs; ++j) {
    AllocationJob& job =
        example.AddJob(1 + below(24), random.Uniform(), random.Uniform(1, 20000), needs_cores ? below(6) : 0);
    job.requested = below(static_cast<uint32_t>(job.sizes.size()));
    job.is_predictable = random.Uniform() < 0.6;
    if (!job.is_predictable) job.remaining_iterations = 0;
  }
  return example;
}

// Law 1: nothing is given twice, and every running job has one of its sizes.
inline void ExpectLegal(const AllocationSnapshot& snapshot, const AllocationPlan& plan) {
  ASSERT_EQ(plan.jobs.size(), snapshot.jobs.size());
  IdVector<HostId, Resources> used(snapshot.nodes.size());
  for (size_t j = 0; j < plan.jobs.size(); ++j) {
    const JobGrant& grant = plan.jobs[j];
    Resources sum;
    for (const NodeShare& share : grant.nodes) {
      used[share.node] = used[share.node] + Resources{share.num_gpus, share.num_cores};
      sum = sum + Resources{share.num_gpus, share.num_cores};
    }
    EXPECT_EQ(sum, grant.resources) << "job " << j;
    EXPECT_EQ(grant.nodes.empty(), grant.reason.cause != PendingCause::kNone) << "job " << j;
    if (grant.nodes.empty() || grant.config) continue;
    EXPECT_NE(std::ranges::find(snapshot.jobs[j].sizes, grant.resources, &JobSize::resources),
              snapshot.jobs[j].sizes.end())
        << "job " << j;
  }
  for (size_t n = 0; n < used.size(); ++n) {
    EXPECT_LE(used[HostId(n)].num_gpus, snapshot.nodes[HostId(n)].num_gpus);
    EXPECT_LE(used[HostId(n)].num_cores, snapshot.nodes[HostId(n)].num_cores);
  }
}

inline std::vector<uint64_t> GpusOf(const AllocationPlan& plan) {
  std::vector<uint64_t> gpus;
  for (const JobGrant& grant : plan.jobs) gpus.push_back(grant.resources.num_gpus);
  return gpus;
}

}  // namespace fairlead::scheduling
