// Means and quantiles of a handful of numbers.
#pragma once

#include <span>
#include <vector>

namespace fairlead {

// 0 when empty. Cost: O(n).
double Mean(std::span<const double> values);

// The value below which a share of the others lie (0 <= share <= 1), interpolated. Reorders `values`; 0 when empty.
// Cost: O(n).
double QuantileInPlace(std::span<double> values, double share);

// Mean of the two middle values where their number is even. Reorders `values`; 0 when empty. Cost: O(n).
double MedianInPlace(std::span<double> values);
// The same of a copy.
double Median(std::vector<double> values);

// Median of |value - center|. Overwrites `values`.
double MedianDeviationInPlace(std::span<double> values, double center);

// The smallest value with at least a share (0 < share <= 1) of all at or below it; shares that are whole numbers of
// values but for rounding count as such. Args: values: not empty. Cost: O(n).
double NearestRank(std::vector<double> values, double share);

}  // namespace fairlead
