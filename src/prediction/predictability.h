// When is a job predictable: labels of finished runs for training, and the one-way flip of a running job.
//
// Method      labels: a prefix of a finished run is predictable when the iterations that its fit says are left are
//             within 20 % of the true ones, and stay so for all longer prefixes. Errors up to 5 % of the whole run
//             count as near: otherwise the last epoch, of which 20 % is nothing, decides over the whole run.
//             flip: score >= 0.5 at two evaluations in a row; evaluations once an epoch, but not within 240 s.
// Guarantees  a job flips at most once and never back; a score that swings around 0.5 flips it at most once. A
//             withdrawn prediction is a counter beside the flip, for policies that heed it.
// Reference   Zhao et al., AITurbo, HPDC 2021; hysteresis and withdrawal are ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "prediction/convergence_model.h"
#include "prediction/job_features.h"

namespace fairlead::prediction {

struct LabelOptions {
  double tolerance = 0.2;   // error of the remaining iterations, relative to the true ones
  double slack = 0.05;      // the same, of the whole run: an error as small as this is always near enough
  size_t first_prefix = 5;  // epochs of the shortest prefix
};

// Label of each prefix of `first_prefix` epochs and more that ends before `true_end`: 1 predictable, 0 not. Args: the
// target loss is in the description; `true_end` is the iteration at which training was over; infinite: it never was,
// all labels are 0.
std::vector<int> LabelPrefixes(const JobRecord& job, double true_end, const LabelOptions& options = {});

struct FlipOptions {
  double threshold = 0.5;
  int num_confirmations = 2;  // raising it makes flips later and rarer wrong
  Seconds interval_min = Seconds(240);
  double error_max = 0.5;  // of the remaining time, twice in a row: the prediction is withdrawn
};

// A running job's state; the caller keeps it.
struct PredictabilityState {
  bool is_predictable = false;
  std::optional<Seconds> last_evaluation;
  int num_confirmed = 0;     // evaluations in a row at or over the threshold
  int num_large_errors = 0;  // in a row
  int num_withdrawn = 0;     // predictions withdrawn; > 0: the default policy treats the job as unpredictable
  std::optional<Seconds> flipped_at;
};

// True when a job that just finished an epoch at `now` is due for an evaluation.
bool IsEvaluationDue(const PredictabilityState& state, Seconds now, const FlipOptions& options = {});

// State after an evaluation. Args: score in [0, 1]; NaN counts as 0.
PredictabilityState AfterScore(PredictabilityState state, Seconds now, double score, const FlipOptions& options = {});

// State after the remaining time predicted at an earlier evaluation could be checked. Args: relative error >= 0; NaN
// counts as large.
PredictabilityState AfterError(PredictabilityState state, double relative_error, const FlipOptions& options = {});

}  // namespace fairlead::prediction
