#include "diagnosis/c4d/robust_statistics.h"

#include <algorithm>
#include <cstddef>

namespace fairlead::diagnosis::c4d {

namespace {

// Of a normal distribution: the lower quartile is this many sigma below the median, and half of the lower half lies
// within that many sigma of the quartile: P(-1.074 < z < -0.274) = 0.25.
constexpr double kQuartileSigmas = 0.6745;
constexpr double kLowerHalfDeviation = 0.4;

}  // namespace

LowerSpread LowerSpreadInPlace(std::span<double> values) {
  if (values.empty()) return {};
  const double quartile = QuantileInPlace(values, 0.25);
  const double middle = MedianInPlace(values);
  const auto end = std::partition(values.begin(), values.end(), [middle](double value) { return value <= middle; });
  const auto lower = values.first(static_cast<size_t>(end - values.begin()));
  const double sigma = MedianDeviationInPlace(lower, quartile) / kLowerHalfDeviation;
  return {quartile + kQuartileSigmas * sigma, sigma};
}

double LowerMedianInPlace(std::span<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace fairlead::diagnosis::c4d
