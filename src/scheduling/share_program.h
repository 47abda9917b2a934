// The linear programs of Gavel: shares of time of jobs on types of GPU.
//
// Notation    X[j][t] share of time of job j on type t; scale[j] -> num_gpus; T[j][t] -> speeds; count[t] GPUs.
// Problem     over X >= 0 with sum_t X[j][t] <= 1 for each job and sum_j scale[j] X[j][t] <= count[t] for each type,
//             maximise  z, with sum_t T[j][t] X[j][t] >= z need[j]  (SolveLargestMultiple), or
//             sum over j and t of T[j][t] X[j][t]                   (SolveLargestSum).
// Method      COIN-OR CLP, dual simplex. The optimum is not unique: equal jobs get equal shares; between others, which
//             one is found depends on the order of jobs.
// Cost        one LP of jobs * types (+ 1) variables.
// Reference   Narayanan et al., Gavel, OSDI 2020, section 4.
#pragma once

#include <vector>

#include "base/status.h"

namespace fairlead::scheduling {

struct ShareJob {
  double num_gpus = 1;         // > 0
  std::vector<double> speeds;  // [type] >= 0
  double need = 0;             // speed of which it is to get a multiple; 0 = any is enough
};

struct TypeShares {
  std::vector<std::vector<double>> shares;  // [job][type]
  double value = 0;                         // of what was maximised
};

// Jobs that run nowhere do not count: the multiple would be 0 for all. Args: counts [type]. No jobs: no shares.
// Errors: kInternal when CLP finds no optimum, which a feasible problem (X = 0 is one) does not explain.
Result<TypeShares> SolveLargestMultiple(const std::vector<ShareJob>& jobs, const std::vector<double>& counts);

// Errors: the same.
Result<TypeShares> SolveLargestSum(const std::vector<ShareJob>& jobs, const std::vector<double>& counts);

}  // namespace fairlead::scheduling
