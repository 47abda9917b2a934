// Gavel: shares of time on each type of GPU by a linear program, carried out in rounds (share_rounds.h).
//
// Problem     types of GPU differ by job; give each job a share of time on each type that
//             max-min      makes the worst-off job as well off as can be, compared with an equal share of everything;
//             throughput   makes the sum of iterations per second largest.
// Notation    X[j][t] share of time of job j on type t; scale[j] requested GPUs; T[j][t] -> type_speeds; count[t] GPUs.
//             Tfair[j] = sum_t T[j][t] count[t] / sum_t count[t];  w[j] -> weight.
// Method      max-min: maximise z:  z <= sum_t T[j][t] X[j][t] scale[j] / (w[j] Tfair[j]), a program of
//             share_program.h; throughput: maximise sum_t T[j][t] X[j][t] over all jobs.
// Cost        one LP of jobs * types + 1 variables whenever jobs came or went, at most one per round.
// Guarantees  max-min: the worst-off job has at least its part of an equal share, where the jobs don't ask for more
//             than there is.
// Reference   Narayanan et al., Gavel, OSDI 2020, sections 4 and 5.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/share_program.h"

namespace fairlead::scheduling::gavel {

enum class GavelGoal : uint8_t {
  kMaxMin,      // "gavel"
  kThroughput,  // "gavel-throughput"
};

struct GavelOptions {
  GavelGoal goal = GavelGoal::kMaxMin;
  // Length of a round, seconds. Shorter: shares are met sooner, more restarts.
  double round_s = 360;

  Status Validate() const;
};

// What the max-min LP needs of a job.
struct GavelJob {
  double num_gpus = 1;
  double weight = 1;
  std::vector<double> speeds;  // [type]
};

// Args: counts [type]. Returns: shares, and z as their value. Errors: those of SolveLargestMultiple().
Result<TypeShares> SolveMaxMinShares(const std::vector<GavelJob>& jobs, const std::vector<double>& counts);

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateGavel(const GavelOptions& options = {});

}  // namespace fairlead::scheduling::gavel
