// Spreads that a few wild values do not move.
#pragma once

#include <span>

#include "base/statistics.h"

namespace fairlead::diagnosis::c4d {

// MAD of a normal distribution times this is its standard deviation.
inline constexpr double kSigmaPerMad = 1.4826;

// What is normal, seen from below: outliers above, up to half of all, move it little.
struct LowerSpread {
  double median = 0;
  double sigma = 0;
};

// Of a normal distribution, its median and standard deviation, read from its lower half. Reorders `values`; zeros when
// empty. Cost: O(n).
LowerSpread LowerSpreadInPlace(std::span<double> values);

// The lesser of the two middle values: up to half of them may be late. Reorders `values`; 0 when empty. Cost: O(n).
double LowerMedianInPlace(std::span<double> values);

}  // namespace fairlead::diagnosis::c4d
