// The integer program of Sia: which configuration each job gets.
//
// Problem     choose at most one option for each job, so that the GPUs of each type suffice and the sum of costs is
//             least, where a job without an option costs `idle_cost`.
// Method      one type of GPU: a knapsack, exactly, by dynamic programming over jobs and GPUs. Several: the relaxation
//             by COIN-OR CLP, which is often whole; else branch and bound over it by CBC, to a gap of 1e-4.
// Cost        one type: O(options x GPUs), 20 us for 40 jobs on 64 GPUs; beyond 1e7 steps as with several. Several: an
//             integer program of as many binary variables as options, jobs + types rows; some ms for 100 jobs with 20
//             options each.
// Guarantees  same arguments, same answer. Of several optima: with one type one in which most jobs run (costs are
//             rounded to hundredths, so there are many), with several any.
// Oracle      exhaustive search in sia_test, up to 4 jobs; the integer program for one type.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"

namespace fairlead::scheduling::sia {

struct AssignmentOption {
  uint32_t gpu_type = 0;
  double num_gpus = 0;
  double cost = 0;
};

// [job] an index into its options; nothing: it idles.
using Assignment = std::vector<std::optional<uint32_t>>;

// Args: options [job], of types below counts.size(); counts [type] GPUs. Options that cost no less than idling are
// never chosen. Errors: kInternal when CBC fails, which a feasible problem (nobody runs) does not explain.
Result<Assignment> SolveAssignment(const std::vector<std::vector<AssignmentOption>>& options, double idle_cost,
                                   const std::vector<double>& counts);

}  // namespace fairlead::scheduling::sia
