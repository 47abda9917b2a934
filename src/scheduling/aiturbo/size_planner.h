// How many resources each job gets, once the order is known: wanted sizes first, then the rest where it speeds up most,
// and no change that doesn't pay for its restart.
//
// Problem     jobs in order, each with a wanted size; give sizes that fit into the cluster. Small sizes waste least,
//             large ones end soonest.
// Notation    T(k) -> time of an iteration at choice k of the job's menu;  kappa -> restart_factor.
// Method      1. grant    in order the wanted size if it fits; otherwise what is free where it is known, or guessed
//                         (length_guess.h), how much is left; others what they request, or nothing. Jobs that have to
//                         save restarts (restart_budget.h) have their turns before all but the first, start whole, and
//                         lose by halves
//             2. fill     while resources are free, a faster choice m to the predictable running job n with the
//                         largest (T(n) / T(m) - 1) / (units more), while that is at least fill_min
//             3. restrain growth of a running job that saves less than kappa restarts is undone; shrinkages are undone
//                         as far as that leaves room, best order first. What is still free goes to waiting jobs, then
//                         to a fill among jobs that change anyway.
// Cost        O((jobs + units) (choices + log jobs)), units = sizes handed out by the fill.
// Guarantees  grants fit; the fill lowers no job; with restart_factor = 0 steps 1 and 2 are the answer.
// Differs     a shrinkage that makes room for a start or for a growth that pays is kept, whatever the order of the
//             gaining job; holding it until a job of better order starts would leave later jobs waiting beside jobs
//             above their knee.
// Reference   our own design; the paper resizes by single units (unit_gains.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduling/aiturbo/job_menu.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling::aiturbo {

struct SizeRules {
  double fill_min = 0.02;
  double restart_factor = 2;
  double hold_s = 300;
  double hold_doubling = 0;   // restarts after which the hold of a job is twice as long; 0: never
  double restart_budget = 0;  // of each job (restart_budget.h); 0: no limit
  size_t num_first = 0;       // jobs at the beginning of the order that go before the turns of others
};

// Args: menus [jobs]; wanted [jobs] choice of the menu.
// Writes resources, config and reason of `plan`.
void PlanSizes(const AllocationSnapshot& snapshot, const ServiceOrder& order, std::span<const JobMenu> menus,
               const std::vector<uint32_t>& wanted, const SizeRules& rules, AllocationPlan* plan);

}  // namespace fairlead::scheduling::aiturbo
