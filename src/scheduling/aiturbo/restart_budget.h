// How often a job may still be restarted, and what it gets instead.
//
// Problem     each arrival and each end changes what is left for the longest jobs, which come last in the order: in a
//             day, one of them was resized 57 times, seven of them in a quarter of an hour on its way from 37 GPUs to
//             none, and started again on one GPU for a minute. Simply forbidding more changes leaves it with a size
//             that happened to be free: too large, and others wait; too small, and it runs for ever. GPUs of its own
//             from the beginning make others wait for longer than its restarts take.
// Notation    B -> budget, restarts of a job; n -> its restarts so far; E -> its time with resources; L -> what it has
//             left, s, at its size, or at the one that it wants while it waits; S -> its fair share of the GPUs, by
//             weights.
// Method      a job has to *save* once n >= 2 and n (1 + L / E) >= 5 B, that is, where it would come to five times its
//             budget at the pace so far, or once n >= 3/4 B. Then
//             1. whole    it starts with what it wants, when that fits in its place in the order, or not at all: what
//                         others leave is theirs again within minutes.
//             2. halves   what it loses, it loses by half, not in small steps, and it stops rather than go on with less
//                         than a quarter of what it wants.
//             3. pace     it changes by itself no earlier than 2 L / (5 B - n) after its last change; from 3/4 B on,
//                         not at all,
//             4. escape   but whenever that saves as much time as it has run, E, and twice that for each restart over
//                         B.
//             5. overdue  and from 3/4 B on whenever it has kept its size for E / 3, and a change makes it at least
//                         twice as fast: restarts that others made must not bind it for ever, nor a length that is a
//                         guess. E grows by a half from one such change to the next.
//             6. turns    from 3/4 B on it has its size for L / (B - n), L as it is now, after each change, whatever
//                         comes but aged and protected jobs: for 1 / (B - n + 1) of what was left at the change, the
//                         last ones for half of it.
//                         All such jobs together have half of their fair shares for that: who runs longest has as much
//                         of it as it has GPUs, the next one what is left; one that waits starts when there is enough
//                         for it, or nobody else has a turn. Who has up to twice what is left keeps all of it, so that
//                         turns don't shrink with each arrival; who has spent B too, as long as anything is left.
//             A job whose nodes failed starts as if it had few restarts. One of unknown length has as much left as it
//             has had (length_guess.h), so it never escapes, and is overdue instead; from B on it goes before others.
// Guarantees  while there is room for turns, restarts beyond B are escapes, at most log2(1 + L / E) of them, or
//             overdue, at most one for each growth of E by a half, or follow them once half of what was left then is
//             done, or make room for aged jobs, or follow a loss of nodes.
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
  // Args, of all below: left_s: L.
  bool HasToSave(const AllocationJob& job, double left_s) const;
  // Time since its last change before the next, s, of a job that has to save. May be infinite.
  double PaceSeconds(const AllocationJob& job, double left_s) const;
  // Whether a job that has to save has turns.
  bool TakesTurns(const AllocationJob& job) const;
  // How long each of its turns lasts.
  double TurnSeconds(const AllocationJob& job, double left_s) const;
  // Args: saved_s: what a change takes off L.
  bool IsEscape(const AllocationJob& job, double saved_s) const;
  // Args: kept_s: time since its last change.
  bool IsOverdue(const AllocationJob& job, double kept_s, double left_s, double saved_s) const;

 private:
  double most_;
};

// GPUs that a job brings into the room for turns. Args: fair_share: GPUs, by weights.
double TurnGpus(double fair_share);

// The most that a turn keeps with so much room, so that what it loses is half at least.
uint64_t StayGpus(double room);

// What a job that has to save has at most once it can't keep its GPUs.
uint64_t LessGpus(uint64_t num_gpus);

// Whether so many GPUs are not worth a restart.
bool IsCrumb(uint64_t num_gpus, uint64_t wanted_gpus);

}  // namespace fairlead::scheduling::aiturbo
