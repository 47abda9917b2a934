// Fairness: keeps jobs of low priority from paying for all others.
//
// Problem     intensity alone starves: the paper's lowest jobs lose 55.5 % of their speed.
// Notation    x -> fairness;  loss_j -> losses[job], the part of its speed alone that a job lost lately;  G -> guard
//             f -> kStarvedBelow;  D -> JobView::starved_for;  R: time between two reports of speeds
//             N: most flows, of all jobs, that meet on one link of the job's paths;  T: its iteration alone
// Method      1. in the order:   P_j becomes (1-x) * P_j + x * loss_j * mean P, and jobs are ranked again 2. in the
//             levels:  a job with D > G is on level 0 until the next report
// Guarantees  x = 0 and G = 0 change nothing. A job's priority never falls as its loss grows, the number of its level
//             never rises as it falls behind. At x = 1 the order is that of the losses. The floor: in k * R between
//             reports a job with paths for its flows makes as much progress as in
//                 min(f, 1/N) * ((k - 1) * R - G) - T
//             alone, whatever the other jobs do. Links are taken to be equally fast and healthy; where a link has only
//             the part h of the speed of the slowest one, it counts as N / h flows. Proof: nothing precedes level 0,
//             and max-min shares give each of the flows on a link at least capacity / N where it is narrowest for it;
//             compute waits for no other job. So a lifted job makes 1/N of its speed alone, up to the part of an
//             iteration that a measurement can't place (T). D falls by p / f - R over an interval of progress p, but
//             not below 0. Let s be the last interval of the k that began with D <= G: those before it made f * R each,
//             less f * G; all after it were lifted. If none began so, all were lifted.
// Differs     the paper only suggests to mix intensity with recent throughput loss (section 7.2), and evaluates
//             nothing; formula and guard are ours. A lifted job may be above one of lower rank that it meets. A job
//             that is being profiled goes before all, lifted or not.
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

// Mixes losses into the priorities of an order and ranks it again. Args: jobs, losses [job]; fairness in [0, 1].
void MixInLosses(std::span<const JobProfile> jobs, std::span<const double> losses, double fairness,
                 PriorityOrder* order);

// Whether a job goes to level 0 for being behind. Args: starved_for as in JobView; guard >= 0, 0 = off.
bool IsLifted(Seconds starved_for, Seconds guard);

}  // namespace fairlead::traffic::crux
