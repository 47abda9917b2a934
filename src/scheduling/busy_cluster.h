// A cluster in the middle of its work, made up: how long does a policy take to decide about one of that size?
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/random.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

class BusyCluster {
 public:
  // Nodes of 8 GPUs; jobs with a speed that grows as the 0.6th to 1st power of up to 64 GPUs, six of ten predictable.
  // The policy has decided once, and a tenth of the jobs is new since. Same arguments, same cluster.
  BusyCluster(uint32_t num_jobs, uint32_t num_gpus, const AllocationPolicy& policy, uint64_t seed);
  // Sizes are borrowed by the jobs.
  BusyCluster(const BusyCluster&) = delete;
  BusyCluster& operator=(const BusyCluster&) = delete;

  const AllocationSnapshot& snapshot() const { return snapshot_; }

 private:
  AllocationJob DrawJob(uint32_t number, Random* random);

  std::deque<std::vector<JobSize>> curves_;
  AllocationSnapshot snapshot_;
};

}  // namespace fairlead::scheduling
