// Fairness: what keeps jobs of low priority from paying for everybody else.
//
// Problem     intensity alone starves: the paper's lowest jobs lose 55.5 % of their speed.
// Notation    x -> fairness;  loss_j -> losses[job], the part of its speed alone that a job lost lately;  G -> guard
// Method      1. in the order:   P_j becomes (1-x) * P_j + x * loss_j * mean P, and jobs are ranked anew
//             2. in the levels:  a job that has been starved for k whole G is lifted k levels
// Guarantees  x = 0 and G = 0 change nothing. A job's priority never falls as its loss grows, the number of its level
//             never rises as it starves longer. At x = 1 the order is that of the losses.
// Differs     the paper only suggests to mix intensity with recent throughput loss (section 7.2), and evaluates
//             nothing; formula and guard are ours. A lifted job may stand above one of lower rank that it meets.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 7.2.
#pragma once

#include <cstdint>
#include <span>

#include "base/units.h"
#include "traffic/crux/priority_assignment.h"
#include "traffic/gpu_intensity.h"

namespace fairlead::traffic::crux {

// The part of its speed alone that a job lost: 1 - relative speed, in [0, 1].
double LossOf(double relative_speed);

// Mixes losses into the priorities of an order and ranks it anew.
// Args: jobs, losses [job]; fairness in [0, 1].
void MixInLosses(std::span<const JobProfile> jobs, std::span<const double> losses, double fairness,
                 PriorityOrder* order);

// Levels that a job is lifted by, at most all that are above it. Args: guard >= 0, 0 = off.
uint32_t CountLifts(uint32_t level, Seconds starved_for, Seconds guard);

}  // namespace fairlead::traffic::crux
