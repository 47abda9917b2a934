// The correction factor: how much a job's intensity counts, compared with the reference job's.
//
// Problem     two jobs of equal GPU intensity don't gain equally from going first: one may hide its communication, or
//             interleave well even when it goes second. Intensity alone would call it a tie.
// Notation    r, j -> reference, job;  t -> link_time;  d_r, d_j -> reference_gain, job_gain;  k_j -> factor
// Method      simulate the pair on one shared link with strict priority, once per order. Each job's time on it is its
//             own t.
//               d_r = link seconds of r when r goes first - when j goes first,  d_j likewise;  k_j = d_j / d_r.
//             Both orders are worth the same when I_r * d_r = I_j * d_j, hence P_j = k_j * I_j.
// Cost        O(phases^2 * events in the horizon); see BM_CruxPlan.
// Guarantees  factor in [1/max_factor, max_factor] unless in paper mode; the same for any common scale of all times.
// Differs     the paper gives no phases, horizon or guards, and its own second example has d_r = 0. Ours: gains are
//             averaged over a grid of initial phases, clamped at 0, smoothed by epsilon, and the factor is clamped.
//             Paper mode switches clamps and epsilon off and says "undefined" where the formula is.
// Reference   Cao et al., Crux, SIGCOMM 2024, section 4.2, Figures 11 and 12.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "traffic/crux/link_simulation.h"

namespace fairlead::traffic::crux {

// Where in its compute block each job of a pair starts, as a fraction; nothing is sent yet.
struct InitialPhases {
  double reference = 1;
  double job = 1;
};

struct CorrectionOptions {
  // All jobs get factor 1 when off: priority is plain intensity.
  bool enabled = true;
  // Initial phases 0, 1/n, …, (n-1)/n of each job, n*n runs. >= 1. More: smoother and slower.
  uint32_t num_phases = 4;
  // When not empty, these pairs instead of the grid.
  std::vector<InitialPhases> explicit_phases;
  // Length of a run in solo iterations of the slower job. > 0. Longer: the transient counts less, and gains of pairs
  // that settle into perfect interleaving fade away.
  double horizon_periods = 6;
  // Length of a run; 0 = horizon_periods decides. >= 0.
  Seconds fixed_horizon;
  // Upper bound of a run in solo iterations of the faster job, so that a job of milliseconds beside one of minutes
  // stays affordable. >= 1.
  double max_iterations = 10'000;
  // Added to both gains, as a fraction of the run. In (0, 1). Larger: factors closer to 1.
  double epsilon = 1e-3;
  // The factor is clamped to [1/max_factor, max_factor]. >= 1. 1 = intensity alone.
  double max_factor = 4;
  // The formula as printed: no clamps, no epsilon; undefined when d_r = 0.
  bool paper_mode = false;

  Status Validate() const;
};

struct CorrectionFactor {
  std::optional<double> factor;  // k_j; nullopt = undefined (paper mode only)
  Seconds reference_gain;        // d_r, mean over the phases, before clamping
  Seconds job_gain;              // d_j, likewise
};

// Args: initial_phase and level of both are ignored.
// Paper: section 4.2.
CorrectionFactor ComputeCorrectionFactor(const LinkJob& reference, const LinkJob& job,
                                         const CorrectionOptions& options);

}  // namespace fairlead::traffic::crux
