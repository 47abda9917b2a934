// Medians and spreads that a few wild values do not move.
#pragma once

#include <span>

namespace fairlead::diagnosis::c4d {

// MAD of a normal distribution times this is its standard deviation.
inline constexpr double kSigmaPerMad = 1.4826;

// The value below which a share of the others lie (0 <= share <= 1), interpolated. Reorders `values`; 0 when empty.
// Cost: O(n).
double QuantileInPlace(std::span<double> values, double share);

// Mean of the two middle values where their number is even. Reorders `values`; 0 when empty. Cost: O(n).
double MedianInPlace(std::span<double> values);

// Median of |value - center|. Overwrites `values`.
double MedianDeviationInPlace(std::span<double> values, double center);

// What is normal, seen from below: outliers above, up to half of all, move it little.
struct LowerSpread {
  double median = 0;
  double sigma = 0;
};

// Of a normal distribution, its median and standard deviation, read from its lower half. Reorders `values`; zeros when
// empty. Cost: O(n).
LowerSpread LowerSpreadInPlace(std::span<double> values);

}  // namespace fairlead::diagnosis::c4d
