#include "base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/check.h"

namespace fairlead {

double Mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

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

double MedianInPlace(std::span<double> values) {
  if (values.empty()) return 0;
  const auto upper = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), upper, values.end());
  if (values.size() % 2 == 1) return *upper;
  return (*std::max_element(values.begin(), upper) + *upper) / 2;
}

double Median(std::vector<double> values) { return MedianInPlace(values); }

double MedianDeviationInPlace(std::span<double> values, double center) {
  for (double& value : values) value = std::abs(value - center);
  return MedianInPlace(values);
}

double NearestRank(std::vector<double> values, double share) {
  FL_CHECK(!values.empty() && share > 0 && share <= 1);
  const double rank = std::ceil(share * static_cast<double>(values.size()) * (1 - 1e-12));
  const auto place = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(place), values.end());
  return values[place];
}

}  // namespace fairlead
