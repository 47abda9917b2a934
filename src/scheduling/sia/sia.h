// Sia: in every round an integer program gives each job a type of GPU and a number of GPUs, by its goodput there.
//
// Notation    configuration -> a type and k GPUs on n nodes of it: k a power of two inside a node, or n whole nodes.
//             G[j][c] -> goodput of job j in configuration c over its least known one; R, S -> restarts so far, what a
//             restart costs; p, lambda -> power, idle_cost.
//             r -> max(age - R S, 0) / (age + S), 1 while age < S; on all configurations of a running job but its own.
// Problem     choose one configuration or none for each job within the GPUs of each type, so that
//             sum min(round((r G)^p, 2), 3000) + lambda (jobs without) is least (assignment_program.h).
// Method      1. a job of which nothing is known: its smallest size, on any type at a cost of 1; others have at most
//                twice the GPUs that they have had
//             2. jobs in the middle of a restart keep what they have
//             3. nodes: those that a job holds, where all others then find whole ones or one; else by GPUs, most first,
//                each on as few nodes as possible, which always is possible with powers of two.
// Cost        one integer program of jobs * configurations variables a round.
// Guarantees  no job is on two types. An allocation with r G < lambda^(1/p) costs more than idling: as published.
// Differs     nodes are kept where that is possible; the publication's simulator moves jobs without cost, its cluster
//             keeps nodes. A job without a size that is a configuration may take any of its sizes.
// Reference   Jayaram Subramanya et al., Sia, SOSP 2023, section 3; constants of the authors' code.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/sia/assignment_program.h"

namespace fairlead::scheduling::sia {

struct SiaOptions {
  double power = -0.5;     // below 0; nearer to 0: favours the sum of goodputs, further: the job that is worst off
  double idle_cost = 1.1;  // above 0; higher: more jobs run, on fewer GPUs each
  double round_s = 60;     // time between two decisions

  Status Validate() const;
};

// What the program is asked about one job: its configurations with their costs, and the size that each is.
struct JobOptions {
  std::vector<AssignmentOption> options;
  std::vector<uint32_t> sizes;  // [options] index into AllocationJob::sizes
};

// Costs of a job's configurations. Args: counts [type] GPUs; configurations [type] numbers of GPUs, ascending.
JobOptions WeighConfigurations(const AllocationJob& job, const AllocationSnapshot& snapshot,
                               const std::vector<std::vector<uint32_t>>& configurations, double power);

// [type] GPUs of each configuration, ascending.
std::vector<std::vector<uint32_t>> ListConfigurations(const AllocationSnapshot& snapshot);

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateSia(const SiaOptions& options = {});

}  // namespace fairlead::scheduling::sia
