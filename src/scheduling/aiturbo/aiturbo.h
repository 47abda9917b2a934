// AITurbo, our variant: shortest remaining service first for jobs of known length, least attained service for the
// others, in one order; sizes by how many wait.
//
// Problem     only part of the jobs can be predicted. Shortest-first needs a prediction for each; least attained
//             service uses none. Jobs scale differently, so a size that its owner guessed wastes GPUs.
// Notation    T(k), R(k) -> predicted time of an iteration at, and resources of, choice k (job_menu.h);
//             V = remaining iterations * T(wanted) * R(wanted): remaining service.
// Method      0. want     congestion_price.h: what each job is to get, the less the more jobs wait
//             1. order    predictable: position by V, times (all / predictable); others: position among all by the
//                         level of attained service (ballots.h). Smaller number first.
//             2. protect  an unpredictable job that has run for less than min_run is not stopped; a stopped job that
//                         has waited longer than max(min_run, age * executed) goes first, once per stop.
//             3. sizes    size_planner.h: what is wanted, fill, hysteresis.
//             4. place    packing.h: few nodes for each.
// Cost        O((jobs * sizes + units) log jobs). See BM_Decide/aiturbo.
// Guarantees  a job that its prediction fails (unpredictable) is still served: nothing is lost, nothing starves.
//             All unpredictable: order by attained service. All predictable: by remaining service.
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
  // kappa: a growth has to save this many restarts. 0: no hysteresis.
  double restart_factor = 2;
  // Time between two decisions without events, seconds. Hardly matters.
  double round_s = 240;
  // A stopped job goes first when it has waited for `age` times what it has executed, and at least `min_run_s`. Lower:
  // long jobs come back sooner, at the cost of short ones.
  double age = 2;
  // An unpredictable job is not stopped earlier, seconds. Higher: fewer restarts, short jobs wait longer.
  double min_run_s = 600;
  // Adds ballot (a) to (b), as the paper does.
  bool borda = false;

  Status Validate() const;
};

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateAiturbo(const AiturboOptions& options = {});

}  // namespace fairlead::scheduling::aiturbo
