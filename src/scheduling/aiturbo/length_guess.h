// How much a job is thought to have left where nothing predicts it, for the choice of its size.
//
// Problem     a size is chosen with what is left in mind: whether a change pays for its restart, and how long resources
//             are held. A job of unknown length that never changes keeps what it happened to get: half of the cluster
//             while twenty wait, or what was free in a bad hour, with GPUs beside it that nobody uses.
// Notation    E -> executed_s;  T -> time of an iteration at the size that it has, or asks for while it waits.
// Method      it has as much left as it has had: r = E / T.
// Guarantees  predictable jobs, and those that have not run, are as they were, and so are those of unknown speed. The
//             order of service does not use the guess: it stays that of attained service.
// Reference   Harchol-Balter and Downey, SIGMETRICS 1996: of processes that have run for E, half run for another E.
//             Lengths of training jobs have as long a tail.
#pragma once

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

// The snapshot with guesses as if they were predictions.
AllocationSnapshot GuessLengths(const AllocationSnapshot& snapshot);

}  // namespace fairlead::scheduling::aiturbo
