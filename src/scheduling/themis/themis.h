// Themis in the form of Gavel: shares of time that make the worst finish-time fairness as good as can be.
//
// Problem     no job should end much later than alone on its part of the cluster.
// Notation    rho[j] = (t[j] + rem[j] / sum_t T[j][t] X[j][t]) / (iso[j] + rem[j] / Tiso[j]), the finish time with
//             sharing over that without: t -> time since submission, rem -> remaining iterations, T -> type_speeds, X
//             -> shares of time (share_program.h), Tiso[j] -> speed on 1 / jobs of the GPUs of each type, iso[j] -> sum
//             over past rounds of iterations done over Tiso then.
// Method      minimise max_j rho[j] over the shares of share_program.h. At a given rho job j needs the speed rem[j] /
//             (rho d[j] - t[j]), d[j] = iso[j] + rem[j] / Tiso[j]; the largest multiple z(rho) of these speeds that all
//             can have is concave in rho, and 1 at the optimum: found by regula falsi (Illinois).
//             Rounds: share_rounds.h.
// Cost        some ten LPs of jobs * types + 1 variables whenever jobs came or went, at most once per round.
// Differs     the publication holds auctions of leases; later publications (Sia, Shockwave, ElasticFlow) compare with
//             this form. A job of unknown length counts as having as much left as it has had, at least 600 s; one of
//             unknown speed as running equally fast everywhere.
// Reference   Mahajan et al., Themis, NSDI 2020; Narayanan et al., Gavel, OSDI 2020, section 4.2.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/share_program.h"

namespace fairlead::scheduling::themis {

struct ThemisOptions {
  // Length of a round, seconds. Shorter: shares are met sooner, more restarts.
  double round_s = 360;

  Status Validate() const;
};

// What the program needs of a job.
struct ThemisJob {
  double num_gpus = 1;         // > 0
  std::vector<double> speeds;  // [type] iterations/s
  double remaining = 0;        // iterations
  double age_s = 0;            // since submission
  double isolated_s = 0;       // that its iterations so far would have taken alone
  double isolated_speed = 0;   // iterations/s alone on its part of the cluster
};

// Iterations/s of a job alone on 1 / num_jobs of the GPUs of each type: sum_t T[t] min(1, ...) count[t] / (num_jobs
// num_gpus), its time scaled down to 1 where it is more. Args: speeds, counts [type]; num_jobs >= 1.
double IsolatedSpeed(double num_gpus, const std::vector<double>& speeds, const std::vector<double>& counts,
                     size_t num_jobs);

// Returns: shares, and the worst rho as their value. Jobs without remaining iterations, or that run nowhere, do not
// count. Errors: those of SolveLargestMultiple().
Result<TypeShares> SolveFinishTimeShares(const std::vector<ThemisJob>& jobs, const std::vector<double>& counts);

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateThemis(const ThemisOptions& options = {});

}  // namespace fairlead::scheduling::themis
