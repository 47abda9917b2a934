// From granted resources to a plan: what every allocation policy does before and after its own decision.
//
//     AllocationPlan plan = BeginPlan(snapshot);          memory as it was, no job runs ... set plan.jobs[j].resources,
//     .config, .reason, .memory ... FinishPlan(snapshot, order, placing, &plan);        nodes, changes, causes,
//     expected times
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling {

// Jobs [snapshot.jobs], first served first.
using ServiceOrder = std::vector<uint32_t>;

// In which order jobs that need nodes take them.
enum class PlacingOrder : uint8_t {
  kSmallestFirst,  // by granted GPUs, then cores, then submission
  kByService,      // by order of service
};

AllocationPlan BeginPlan(const AllocationSnapshot& snapshot);

// All jobs by (submission, id).
ServiceOrder BySubmission(const AllocationSnapshot& snapshot);

// Running jobs keep what they hold, as far as it is still there; taken from `room` in this order.
void KeepRunning(const AllocationSnapshot& snapshot, const ServiceOrder& order, Resources* room, AllocationPlan* plan);

// Gives each job of `order` what it requested, if that is still free; others are skipped or, with `strict`, end it.
// Jobs that already have a grant in `plan` keep it and `room` doesn't count it again.
void GrantRequested(const AllocationSnapshot& snapshot, const ServiceOrder& order, bool strict, Resources* room,
                    AllocationPlan* plan);

// Cores on the host of each GPU of the job in any case: those of its worker. Nothing for jobs without servers, where
// all cores belong to GPUs.
std::optional<uint32_t> LeastCoresPerGpu(const AllocationJob& job, const JobGrant& grant);

// Jobs with nodes set by the policy keep them. Jobs of unchanged size keep their nodes where these still have room; the
// others take nodes in `placing` order by the rule of NodePool. A job with a grant that can't be placed waits. Then
// fills in reasons: order, change, cause, expected start and end. Cost: O((jobs + shares) * log(jobs * nodes)).
void FinishPlan(const AllocationSnapshot& snapshot, const ServiceOrder& order, PlacingOrder placing,
                AllocationPlan* plan);

}  // namespace fairlead::scheduling
