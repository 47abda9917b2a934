#include "prediction/predictability.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace fairlead::prediction {

std::vector<int> LabelPrefixes(const JobRecord& job, double true_end, const LabelOptions& options) {
  const std::vector<LossPoint> points = LossCurve(job.epochs);
  ConvergenceOptions fit_options;
  fit_options.num_bootstraps = 0;
  fit_options.declared_drops = job.description.rate_drops;
  std::vector<int> labels;
  for (size_t length = options.first_prefix; length <= points.size(); ++length) {
    const double now = points[length - 1].iteration;
    if (!(now < true_end)) break;
    const ConvergenceFit fit = FitConvergence(std::span(points).first(length), fit_options);
    const double left = true_end - now;
    const bool is_near = fit.usable() && std::isfinite(left) &&
                         std::abs(PredictRemaining(fit, job.description.target_loss, now).expected - left) <=
                             std::max(options.tolerance * left, options.slack * true_end);
    labels.push_back(is_near ? 1 : 0);
  }
  // A prefix counts only when all longer ones are near too.
  for (size_t i = labels.size(); i-- > 1;) {
    if (labels[i] == 0) labels[i - 1] = 0;
  }
  return labels;
}

bool IsEvaluationDue(const PredictabilityState& state, Seconds now, const FlipOptions& options) {
  return !state.last_evaluation || now - *state.last_evaluation >= options.interval_min;
}

PredictabilityState AfterScore(PredictabilityState state, Seconds now, double score, const FlipOptions& options) {
  state.last_evaluation = now;
  state.num_confirmed = score >= options.threshold ? state.num_confirmed + 1 : 0;
  if (!state.is_predictable && state.num_confirmed >= options.num_confirmations) {
    state.is_predictable = true;
    state.flipped_at = now;
  }
  return state;
}

PredictabilityState AfterError(PredictabilityState state, double relative_error, const FlipOptions& options) {
  state.num_large_errors = relative_error <= options.error_max ? 0 : state.num_large_errors + 1;
  if (state.num_large_errors == 2) {
    ++state.num_withdrawn;
    state.num_large_errors = 0;
  }
  return state;
}

}  // namespace fairlead::prediction
