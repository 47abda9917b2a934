#include "base/normal_distribution.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace fairlead {

double NormalDensity(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

double NormalCdf(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

// By Newton's method from Abramowitz and Stegun 26.2.22, which is right to 3e-3: each step squares that.
double NormalQuantile(double probability) {
  const double tail = std::min(probability, 1 - probability);
  const double t = std::sqrt(-2 * std::log(tail));
  double z = t - (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t));
  for (int i = 0; i < 3; ++i) z += (NormalCdf(-z) - tail) / NormalDensity(z);
  return probability < 0.5 ? -z : z;
}

}  // namespace fairlead
