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

}  // namespace fairlead::diagnosis::c4d
