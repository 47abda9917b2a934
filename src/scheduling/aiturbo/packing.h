// On which nodes jobs run, once their sizes are known: few nodes for each, and no job left scattered for long.
//
// Problem     predicted times hold for the densest placement. A job that fits into one node but lies on two may take
//             twice as long, and if it keeps its nodes it stays so until its end.
// Notation    T(k) -> sizes[k].iteration_s; g -> GPUs of the largest node; kappa -> restart_factor.
//             c = T(g+1) - T(g) g / (g+1), at least 0: what leaving the node costs in each iteration, as the job's
//             own sizes tell it.
// Method      1. keep         unchanged size keeps its nodes
//             2. place        the others, most GPUs first, by the dense rule of NodePool. One that would fit into a
//                             node but finds none with room runs smaller in one node where that is faster than
//                             T(k) + c
//             3. consolidate  a kept predictable job of at most g GPUs on more than one node moves into one that has
//                             room, where (remaining iterations) c exceeds kappa restarts.
// Cost        O((jobs + shares) log nodes + jobs * sizes).
// Guarantees  grants only shrink. A job that takes no harm from scattering (c = 0) is never moved or cut.
// Reference   our own design; the paper packs by size only.
#pragma once

#include "scheduling/allocation_policy.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

// Sets the nodes of all grants of `plan` that can be placed, and makes some of the grants smaller. Args:
// restart_budget: jobs that have spent theirs (restart_budget.h) are not consolidated; 0: no limit.
void PackNodes(const AllocationSnapshot& snapshot, const ServiceOrder& order, double restart_factor,
               AllocationPlan* plan, double restart_budget = 0);

}  // namespace fairlead::scheduling::aiturbo
