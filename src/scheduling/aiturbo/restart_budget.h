// How often a job may still be restarted, and what it gets instead.
//
// Problem     each arrival and each end changes what is left for the longest jobs, which come last in the order: in a
//             day, one of them was resized 57 times, seven of them in a quarter of an hour on its way from 37 GPUs to
//             none, and started again on one GPU for a minute. Simply forbidding more changes leaves it with a size
//             that happened to be free: too large, and others wait; too small, and it runs for ever.
// Notation    B -> budget, restarts of a job; n -> its restarts so far; E -> its time with resources; L -> what it has
//             left at its present size, s; S -> its fair share of the GPUs, by weights.
// Method      a job has to *save* once n >= 2 and n (1 + L / E) >= 5 B, that is, where it would come to five times its
//             budget at the pace so far, or once n >= 3/4 B. Then
//             1. floor    half of its fair share, S / 2, is its own, whatever comes; it stays where it is while
//                         it has no more than twice as much. What it loses, it loses at once, down to its floor, not
//                         in small steps. Floors are given in the order of service while they are within the fair
//                         shares of all that have to save: in a crowd of long jobs only some have one.
//             2. pace     it changes by itself no earlier than 2 L / (5 B - n) after its last change; from 3/4 B on,
//                         not at all,
//             3. escape   but whenever that saves as much time as it has run, E, and twice that for each restart over
//                         B.
//             4. overdue  and beyond B whenever it has kept its size for E / 3, and a change makes it at least twice as
//                         fast: restarts that others made must not bind it for ever. E grows by a half from one such
//                         change to the next.
//             5. spent    with n >= B its floor is what it has, after aged and protected jobs only.
//             A job of unknown length keeps its size anyway, and is only stopped; it is spent, too.
// Guarantees  while fair shares are above a GPU, restarts beyond B are escapes, at most log2(1 + L / E) of them, or
//             overdue, at most one for each growth of E by a half, or make room for aged jobs, or follow a loss of
//             nodes. With more jobs than GPUs it is an aim only.
// Differs     the budget of the companion specification refills with the hours run; a total needs no clock, and is what
//             an owner would ask for.
// Reference   our own design; what each part brings: docs/papers/aiturbo.md.
#pragma once

#include <cstdint>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

class RestartBudget {
 public:
  // Args: most: B, >= 0; 0: no limit.
  explicit RestartBudget(double most) : most_(most) {}

  bool IsSpent(const AllocationJob& job) const { return most_ > 0 && job.num_restarts >= most_; }
  // Args, of all below: left_s: L of a running job.
  bool HasToSave(const AllocationJob& job, double left_s) const;
  // Time since its last change before the next, s, of a job that has to save. May be infinite.
  double PaceSeconds(const AllocationJob& job, double left_s) const;
  // Args: saved_s: what a change takes off L.
  bool IsEscape(const AllocationJob& job, double saved_s) const;
  // Args: kept_s: time since its last change.
  bool IsOverdue(const AllocationJob& job, double kept_s, double left_s, double saved_s) const;

 private:
  double most_;
};

// Of a job that has to save, at least 1. Args: fair_share: GPUs, by weights.
uint64_t FloorGpus(double fair_share);
// The most that such a job may hold and stay there as if it were its floor.
uint64_t StayGpus(double fair_share);

}  // namespace fairlead::scheduling::aiturbo
