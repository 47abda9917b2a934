// An order of measured priorities that turns only when it is wrong for certain.
//
// Problem     priorities of real jobs are measured, and two that are alike change places with each measurement. Every
//             change of a level costs something, so the order in force must outlive noise, and only noise.
// Notation    P_j -> priority;  u_j -> uncertainties[j], of ln P_j
// Method      a goes before b for certain when ln P_a - ln P_b > sqrt(u_a^2 + u_b^2). That is a partial order, since it
//             follows P. The order is one of its topological orders: of the jobs that no remaining one must precede,
//             the one with the first level in force goes next; then the one of greater P, then the lower id.
// Cost        O(n^2), n jobs.
// Guarantees  a permutation; no two jobs contradict a certain order. Nothing uncertain: the order of P, untouched. Two
//             jobs of different levels in force, with an order that is neither certain nor decided by certainty about
//             others, are ordered by their levels.
// Differs     the paper measures once and orders once.
// Oracle      certain_order_test: these laws over random jobs.
#pragma once

#include <cstdint>
#include <span>

#include "traffic/crux/priority_assignment.h"

namespace fairlead::traffic::crux {

// Args: [job]; uncertainties >= 0; levels in force, or one behind the last for a job that has none. Ranks change,
// priorities don't.
void KeepOrderWhereUncertain(std::span<const double> uncertainties, std::span<const uint32_t> levels,
                             PriorityOrder* order);

}  // namespace fairlead::traffic::crux
