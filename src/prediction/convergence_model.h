// Convergence: how many iterations a job still needs, from the losses it has shown so far.
//
// Problem     from a prefix of a loss curve, find the iteration at which the loss reaches a target.
// Notation    loss(k) = scale (1 / (b0 k + b1) + b2), all >= 0, k from the start of the fitted part;
//             b0, b1, b2 -> slope, offset, floor;  k(l) -> IterationsToReach;  s_i = 1, 4, 16 -> weight of each third
// Method      1. losses are divided by the largest of the first three; points outside median +- 4 MAD of a 9-wide
//             window are dropped  2. after the last learning-rate drop, declared or seen, only later points count
//             3. for a floor on a grid and then by golden section: least squares of 1/(l - floor) on (k, 1) without
//             negatives, rows times (l - floor)^2 s_i; the floor with the least weighted residual in l wins
//             4. the interval: refits of curves with residuals drawn again.
// Cost        O(points) for each of about 100 floors, times (1 + num_bootstraps). See BM_FitConvergence.
// Guarantees  every input has an outcome: a fit, or unpredictable with a reason. Same input and seed, same output.
//             Without noise the curve is found to 1e-6.
// Differs     floors are compared by residuals in l, not in 1/l, where weights change with the floor. Section 4 of the
//             specification leaves the treatment of bad curves open; see UnpredictableReason.
// Reference   Peng et al., Optimus, EuroSys 2018, section 3.1; Zhao et al., AITurbo, HPDC 2021.
// Oracle      convergence_model_test.cc: planted curves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace fairlead::prediction {

struct LossPoint {
  double iteration = 0;  // done when the loss was measured; strictly growing along a curve
  double loss = 0;
};

// Why a curve allows no prediction; the job then counts as unpredictable.
enum class UnpredictableReason {
  kNone,            // the fit is usable
  kNoObservations,  // no loss was reported
  kTooFewPoints,    // fewer than min_points, in all or since the last learning-rate drop
  kNotFinite,       // a loss or an iteration is NaN or infinite: the training has diverged, or the log is broken
  kNotPositive,     // a loss of 0 or below: not a loss of this form
  kOutOfOrder,      // iterations that do not grow, such as two runs in one log
  kRising,          // the last third lies above the first
  kFlat,            // the best curve does not fall: nothing to extrapolate
};
std::string_view Name(UnpredictableReason reason);
// A sentence for people.
std::string_view Explain(UnpredictableReason reason);

struct ConvergenceOptions {
  // Fewer points are too few to tell three coefficients. Raising it delays predictions, lowering it makes wild ones.
  size_t min_points = 5;
  size_t num_floors = 64;
  size_t num_bootstraps = 50;  // 0: no interval
  uint64_t seed = 1;
  // Iterations at which the job says its learning rate falls, in order.
  std::vector<double> declared_drops;
  // Also take a sudden fall of the loss for a drop: by more than this many standard deviations of the recent changes.
  // Lower finds smaller drops and more false ones; 0 turns it off.
  double drop_deviations = 4;
};

// The fitted hyperbola; iterations are counted from the start of the job, losses as measured.
struct ConvergenceCurve {
  double first_iteration = 0;  // where k = 0
  double scale = 1;            // loss / normalised loss
  double slope = 0;
  double offset = 0;
  double floor = 0;  // normalised

  double LossAt(double iteration) const;
  // The iteration at which the loss reaches `target`, not before first_iteration. None: never (the target is not above
  // the floor, or the curve does not fall).
  std::optional<double> IterationsToReach(double target) const;
};

struct ConvergenceFit {
  UnpredictableReason reason = UnpredictableReason::kNone;
  ConvergenceCurve curve;                   // when usable
  std::vector<ConvergenceCurve> resamples;  // of the bootstrap, for intervals
  double residual = 0;                      // root mean square, normalised loss
  size_t num_points = 0;                    // fitted
  size_t num_outliers = 0;                  // dropped
  std::optional<double> drop_iteration;     // the learning-rate drop after which the fit begins

  bool usable() const { return reason == UnpredictableReason::kNone; }
};

// Never fails: what can't be fitted has a reason.
ConvergenceFit FitConvergence(std::span<const LossPoint> points, const ConvergenceOptions& options = {});

// Iterations that are left. `expected` is infinite when the curve never reaches the target.
struct RemainingIterations {
  double expected = 0;
  double low = 0;   // 5th percentile of the resamples
  double high = 0;  // 95th; infinite when more than one in twenty never gets there
};
// Args: a usable fit. `now` is the iteration the job has reached.
RemainingIterations PredictRemaining(const ConvergenceFit& fit, double target, double now);
// The same for a job that ends after a fixed number of iterations, which needs no model.
RemainingIterations FixedRemaining(double total, double now);

// True when the last `num_epochs` changes from epoch to epoch were all smaller than `change_max` of the first losses
// (largest of the first three). Optimus' constants. Args: one loss for each epoch, finite.
bool HasConverged(std::span<const double> epoch_losses, size_t num_epochs = 10, double change_max = 0.05);

}  // namespace fairlead::prediction
