// AITurbo, our variant: shortest remaining service first for jobs of known length, least attained service for the
// others, in one order; sizes by how many wait.
//
// Problem     only part of the jobs can be predicted. Shortest-first needs a prediction for each; least attained
//             service uses none. Jobs scale differently, so a size that its owner guessed wastes GPUs.
// Notation    T(k), R(k) -> predicted time of an iteration at, and resources of, choice k (job_menu.h);
//             V = remaining iterations * T(wanted) * R(wanted): remaining service.
// Method      0. want     congestion_price.h: what each job is to get, the less the more jobs wait
//                         (length_guess.h: as if jobs that can't be predicted had as much left as they have had; while
//                         they run, they want no more than they have, and get more where it is free)
//             1. order    predictable: position by V / (1 + time since submission / patience), a running job's V
//                         divided by stay_factor, too, and each one's by its weight; times (all / predictable). Others:
//                         position among all by the level of attained service (ballots.h). Smaller number first. While
//                         more than twice the cluster is waited for, patience grows in proportion: an hour of waiting
//                         says less about a job then.
//             2. protect  an unpredictable job that has run for less than min_run is not stopped.
//             3. aged     a job that has waited for max(max_wait, age * executed) since its submission or last stop
//                         goes before all but protected ones until it starts, and is then protected for min_run; the
//                         longest waiting first, as many as fit into aged_share of the cluster with those that are
//                         still protected so, but one at least: where everybody is aged, order would be by submission.
//                         While one waits, jobs that start are not protected: what is free is used, and given back to
//                         it. One of known length claims no more than its fair share, if it can run on that.
//             4. sizes    size_planner.h: what is wanted, fill, hysteresis; restart_budget.h: jobs with many restarts.
//             5. place    packing.h: few nodes for each.
// Cost        O((jobs * sizes + units) log jobs). See BM_Decide/aiturbo.
// Guarantees  no job that fits into the cluster waits forever, whatever comes after it: aged jobs go first in the order
//             of their waits, none is passed over, and protected ones become no more while it waits. Restarts of a job:
//             restart_budget.h. All unpredictable: order by attained service. All predictable: by
//             remaining service and age.
// Differs     from the paper in sizes (it changes them by single units) and in the order (it adds both ballots, and has
//             levels): aiturbo_literal.h. Why: docs/papers; on the Pollux benchmark this variant's mean JCT is 44 %
//             lower.
// Reference   Zhao et al., AITurbo, HPDC 2021.
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::aiturbo {

struct AiturboOptions {
  // f: jobs that are thought to suffer from what a job takes, as a multiple of those that wait (congestion_price.h),
  // >= 0. 1: only those; more: also those still to come; higher: smaller jobs. 0: sizes at the knee instead, however
  // many wait.
  double price_factor = 2;
  // e: least efficiency of a knee size, (0, 1]; with price_factor 0. Higher: smaller jobs, less waste, more of them at
  // once; lower: jobs end sooner when the cluster has room, and wait longer when it has not.
  double knee_efficiency = 0.75;
  // A free unit goes to a job only if it speeds it up by this share, >= 0. Lower: nothing stays free; higher: fewer
  // restarts.
  double fill_min = 0.02;
  // A job resized less than this ago keeps its size if it can, seconds. Higher: fewer restarts, slower reaction.
  double hold_s = 300;
  // Restarts of a job after which its hold is twice as long, and so on; 0: never. Lower: fewer restarts of long jobs.
  double hold_doubling = 8;
  // kappa: a growth has to save this many restarts. 0: no hysteresis.
  double restart_factor = 10;
  // B: restarts that a job is to have at most, >= 0: restart_budget.h; failures and aged jobs are not held up by it.
  // 0: as often as it pays. Lower: fewer restarts, worse times (docs/papers/aiturbo.md).
  double restart_budget = 20;
  // Time between two decisions without events, seconds. Hardly matters.
  double round_s = 240;
  // A stopped job goes first when it has waited for `age` times what it has executed, and at least `max_wait_s`. Lower:
  // long jobs come back sooner, at the cost of short ones.
  double age = 8;
  // An unpredictable job is not stopped earlier, seconds; nor before twice what its restart has cost.
  // Higher: fewer restarts, short jobs wait longer.
  double min_run_s = 600;
  // A running job is preferred as if it had this many times less to do, >= 1. Higher: fewer stops.
  double stay_factor = 2;
  // Time since submission after which a job counts as if it had half as much to do, seconds. Lower: long jobs end
  // sooner, short ones later; 0: age does not count.
  double patience_s = 600;
  // A job that has waited so long goes first, seconds. Lower: shorter longest waits, and longer completion.
  double max_wait_s = 14400;
  // Share of the cluster for jobs that go first so, until they may be stopped again, >= 0; one may always. Higher:
  // shorter longest waits where more jobs come than the cluster can do, and longer completion.
  double aged_share = 0.25;
  // phi: the order is (1 - phi) of the one above and phi of that of submission, 0 to 1.
  double fairness = 0;
  // Adds ballot (a) to (b), as the paper does.
  bool borda = false;

  Status Validate() const;
};

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateAiturbo(const AiturboOptions& options = {});

}  // namespace fairlead::scheduling::aiturbo
