// How often a job may still be restarted, and what it gets instead.
//
// Problem     each arrival and each end changes what is left for the longest jobs, which come last in the order: in a
//             day, one of them was resized 57 times, seven of them in a quarter of an hour on its way from 37 GPUs to
//             none, and started again on one GPU for a minute. Simply forbidding more changes leaves it with a size
//             that happened to be free: too large, and others wait; too small, and it runs for ever. GPUs of its own
//             make others wait, too, while it could do without.
// Notation    B -> budget, restarts of a job; n -> its restarts so far; E -> its time with resources; L -> what it has
//             left, s, at its size, or at the wanted one while it waits.
// Method      a job has to *save* from its second restart on:
//             1. pace     it changes by itself, and starts again after others took all that it had, no earlier than P =
//                         1/5 L / (B - 2 - n) after its last change, nor before the end of its hold; two restarts are
//                         kept for what others do. With n >= B - 2 it does not change by itself at all, and starts
//                         after 1/5 L. GPUs that otherwise nobody would use are not left idle for that: it starts
//                         after P / 4 where it gets all that it wants, and at once if nobody else runs.
//             2. crumbs   it does not start, nor go on, with less than a quarter of what it wants. What it loses, it
//                         loses by half, not in small steps.
//             3. escape   it changes whenever that saves as much time as it has run, E, and twice that for each restart
//                         over B.
//             4. overdue  and beyond B whenever it has kept its size for E / 3, and a change makes it at least twice as
//                         fast: restarts that others made must not bind it for ever. E grows by a half from one such
//                         change to the next.
//             5. spent    with n >= B what it has is its own, after aged and protected jobs only, while all such jobs
//                         have no more than their fair shares, by weights: in a crowd of long jobs only some do.
//             A job that starts again as its nodes failed, or as it has waited for long, is not held up. One of unknown
//             length keeps its size anyway, and is only stopped; it is spent, too.
// Guarantees  while fair shares are above a GPU, restarts beyond B are escapes, at most log2(1 + L / E) of them, or
//             overdue, at most one for each growth of E by a half, or make room for aged jobs or for other spent ones,
//             or follow a loss of nodes. With more jobs than GPUs it is an aim only.
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
  bool HasToSave(const AllocationJob& job) const;
  // P. Args: left_s: L.
  double PaceSeconds(const AllocationJob& job, double left_s) const;
  // Whether it does not change by itself any more, but to escape or when that is overdue.
  bool IsBound(const AllocationJob& job) const;
  // Args: saved_s: what a change takes off L.
  bool IsEscape(const AllocationJob& job, double saved_s) const;
  // Args: kept_s: time since its last change; left_s: L.
  bool IsOverdue(const AllocationJob& job, double kept_s, double left_s, double saved_s) const;

 private:
  double most_;
};

// What remains of a pace where nobody else would use what the job wants.
double EarlySeconds(double pace_s);
bool IsCrumb(uint64_t num_gpus, uint64_t wanted_gpus);
// The most that is left of so many GPUs when some of them are lost.
uint64_t LessGpus(uint64_t num_gpus);

}  // namespace fairlead::scheduling::aiturbo
