// Crux: paths, a priority order and levels for all jobs, so that the cluster's GPUs do the most work.
//
// Problem     jobs that share links slow each other down; which one waits decides how many GPUs idle.
// Notation    I_j, t_j, W_j: gpu_intensity.h;  k_j, d_r, d_j: correction_factor.h
// Method      1. t_j and I_j of every job on its paths in force, or on those of its hashes when it is new
//             (gpu_intensity.h)
//             2. paths, most intense job first (path_selection.h)
//             3. a total order (priority_assignment.h)
//             4. levels, from the contention on the new paths (priority_compression.h)
//             Where priorities are measured and uncertain, the order and the levels in force stay until they are wrong
//             for certain (certain_order.h, level_stability.h).
//             Options mix losses into step 3 and lift starved jobs after step 4 (fairness.h).
// Cost        sum of its parts; see BM_CruxPlan.
// Guarantees  same snapshot, same plan. Of two jobs that share a link the one of lower rank never has the
//             greater level number, but for a job that the starvation guard lifts. Every path is one of the router's
//             equal-cost paths.
// Differs     intensities are not recomputed after step 2 (no fixed-point loop). Jobs that never leave NVLink, and jobs
//             that failures cut off, take no part: level 0. A flow with a dead path in force counts with the path of
//             its hash.
// Reference   Cao et al., Crux, SIGCOMM 2024, sections 3 and 4.
#pragma once

#include <memory>

#include "traffic/crux/correction_cache.h"
#include "traffic/crux/crux_options.h"
#include "traffic/path_chooser.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic::crux {

// Thread: Plan fills a cache of pair simulations; one policy per thread. What it holds changes no plan.
class CruxPolicy final : public TrafficPolicy {
 public:
  // `options` must be valid; `name` is what the registry calls this set of options, and must outlive the policy.
  // `paths` takes the place of step 2; null: path selection as in the paper.
  explicit CruxPolicy(CruxOptions options, std::string_view name = "crux",
                      std::unique_ptr<const PathChooser> paths = nullptr);

  std::string_view name() const override { return name_; }
  TrafficPlan Plan(const TrafficSnapshot& snapshot) const override;
  TrafficPlan PlanAgain(const TrafficSnapshot& snapshot, PlanMemory* memory) const override;
  // Without compression at least one level per job.
  uint32_t NumLevels(uint32_t hardware_levels, size_t num_jobs) const override;
  // With fairness or the starvation guard.
  bool NeedsSpeeds() const override { return options_.fairness > 0 || options_.starvation_guard.value() > 0; }

 private:
  TrafficPlan PlanWith(const TrafficSnapshot& snapshot, PlanMemory* memory) const;

  std::string_view name_;
  CruxOptions options_;
  std::unique_ptr<const PathChooser> paths_;
  mutable CorrectionCache corrections_;
};

}  // namespace fairlead::traffic::crux
