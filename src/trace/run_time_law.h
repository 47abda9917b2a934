// A distribution given by a few quantiles: how long jobs run, when the rest of the law is unknown.
//
// Problem     a table of quantiles (p25 = 1 min, p50 = 4 min, …) is published, the samples are not.
// Method      between two neighbouring quantiles the logarithm of the value grows linearly with the probability. The
//             tail beyond a probability can be scaled: v -> knee + (v - knee) * tail_scale.
// Guarantees  Quantile is the inverse of Cdf within the range; the given quantiles are met exactly.
// Reference   Lingjun data set; the interpolation is ours.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"

namespace fairlead::trace {

class RunTimeLaw {
 public:
  // Any value between 1 and 2: for a variable that is filled later.
  RunTimeLaw();
  // Args: probabilities from 0 to 1, strictly ascending; values > 0, strictly ascending, of the same number (>= 2).
  // Errors: kInvalidArgument.
  static Result<RunTimeLaw> Create(std::vector<double> probabilities, std::vector<double> values);

  // The value below which a share `p` in [0, 1] lies.
  double Quantile(double p) const;
  // The share of values <= `value`.
  double Cdf(double value) const;

  // The law with everything above its quantile `knee` scaled, seen from there. scale > 0: below 1 the tail shrinks.
  RunTimeLaw ScaleTail(double knee, double scale) const;

  const std::vector<double>& probabilities() const { return probabilities_; }
  const std::vector<double>& values() const { return values_; }

 private:
  RunTimeLaw(std::vector<double> probabilities, std::vector<double> values);
  double Interpolate(double p) const;

  std::vector<double> probabilities_;
  std::vector<double> values_;
  double knee_value_;  // beyond it values are scaled; the greatest value when nothing is
  double tail_scale_ = 1;
};

}  // namespace fairlead::trace
