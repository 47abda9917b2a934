// Shares of time, carried out in rounds: what Gavel and Themis have in common.
//
// Problem     a policy gives each job a share of time on each type of GPU; in a round a job runs on one type, or waits.
// Notation    X[j][t] -> shares; f[j][t] -> part of all rounds on type t that job j has had since the shares were
//             solved, where each job starts with half a round.
// Method      shares are solved anew when jobs have come or gone. In each round: job and type by X / f, larger shares
//             first among equals, while GPUs of the type are free; then the rest in order of submission. Between
//             rounds no job is stopped.
// Guarantees  the order in the snapshot does not matter.
// Differs     one type per job and round, at its requested size. Jobs without type_speeds run equally fast everywhere.
// Reference   Narayanan et al., Gavel, OSDI 2020, section 5; half a round is the authors' code's.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/node_pool.h"
#include "scheduling/plan_assembly.h"
#include "scheduling/share_program.h"

namespace fairlead::scheduling {

// [type] iterations/s at the requested size; 0 on types with fewer GPUs than that. Args: counts [type].
std::vector<double> SpeedsOnTypes(const AllocationJob& job, const std::vector<double>& counts);

class ShareRounds : public AllocationPolicy {
 protected:
  // Args: round_s > 0.
  explicit ShareRounds(double round_s) : round_s_(round_s) {}

 private:
  // What a policy remembers of each job at the begin of a round, before shares are solved. Args: counts [type].
  virtual void BeginRound(const AllocationSnapshot& /*snapshot*/, const std::vector<double>& /*counts*/,
                          AllocationPlan* /*plan*/) const {}
  // Returns: shares [order][type]. `plan` has the memory of this round. Errors: kInternal; the round then goes by
  // submission.
  virtual Result<TypeShares> SolveShares(const AllocationSnapshot& snapshot, const ServiceOrder& order,
                                         const std::vector<double>& counts, const AllocationPlan& plan) const = 0;

  AllocationPlan Plan(const AllocationSnapshot& snapshot) const final;
  bool IsRoundOver(const AllocationSnapshot& snapshot) const;
  void GiveRound(const AllocationSnapshot& snapshot, const ServiceOrder& order, AllocationPlan* plan) const;
  void RenewShares(const AllocationSnapshot& snapshot, const ServiceOrder& order, const std::vector<double>& counts,
                   AllocationPlan* plan) const;

  const double round_s_;
};

}  // namespace fairlead::scheduling
