#include "diagnosis/c4d/robust_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace fairlead::diagnosis::c4d {

double QuantileInPlace(std::span<double> values, double share) {
  if (values.empty()) return 0;
  const double position = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(position);
  const auto at = values.begin() + static_cast<ptrdiff_t>(below);
  std::nth_element(values.begin(), at, values.end());
  const double low = *at;
  const double fraction = position - static_cast<double>(below);
  if (fraction <= 0) return low;
  return low + fraction * (*std::min_element(at + 1, values.end()) - low);
}

double MedianInPlace(std::span<double> values) { return QuantileInPlace(values, 0.5); }

double MedianDeviationInPlace(std::span<double> values, double center) {
  for (double& value : values) value = std::abs(value - center);
  return MedianInPlace(values);
}

}  // namespace fairlead::diagnosis::c4d
