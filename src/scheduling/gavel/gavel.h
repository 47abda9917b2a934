// Gavel: shares of time on each type of GPU by a linear program, carried out in rounds.
//
// Problem     types of GPU differ by job; give each job the share of time on each type that makes the worst-off job as
//             well off as can be, compared with an equal share of everything.
// Notation    X[j][t] share of time of job j on type t; scale[j] requested GPUs; T[j][t] -> type_speeds; count[t] GPUs.
//             Tfair[j] = sum_t T[j][t] count[t] / sum_t count[t];  w[j] -> weight.
// Method      maximise z:  z <= sum_t T[j][t] X[j][t] scale[j] / (w[j] Tfair[j]);  sum_t X[j][t] <= 1;
//             sum_j scale[j] X[j][t] <= count[t];  X >= 0.  Solved by COIN-OR CLP (dual simplex).
//             Round: job and type by X / (1 + rounds received on the type), never served ones first, while GPUs of the
//             type are free.
// Cost        one LP of jobs * types + 1 variables per round.
// Guarantees  the worst-off job has at least its part of an equal share, where the jobs don't ask for more than there
//             is.
// Differs     one type per job and round, at its requested size. Jobs without type_speeds run equally fast everywhere.
// Reference   Narayanan et al., Gavel, OSDI 2020, sections 4 and 5 (max-min fairness).
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::gavel {

struct GavelOptions {
  // Length of a round, seconds. Shorter: shares are met sooner, more restarts.
  double round_s = 360;

  Status Validate() const;
};

// What the LP needs of a job.
struct GavelJob {
  double num_gpus = 1;
  double weight = 1;
  std::vector<double> speeds;  // [type]
};

struct GavelShares {
  std::vector<std::vector<double>> shares;  // [job][type]
  double worst = 0;                         // z
};

// Args: counts [type]. Empty jobs: no shares. Errors: kInternal when CLP finds no optimum, which a feasible problem (X
// = 0 is one) does not explain.
Result<GavelShares> SolveMaxMinShares(const std::vector<GavelJob>& jobs, const std::vector<double>& counts);

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateGavel(const GavelOptions& options = {});

}  // namespace fairlead::scheduling::gavel
