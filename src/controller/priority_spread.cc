#include "controller/priority_spread.h"

#include <cmath>

#include "base/check.h"
#include "base/normal_distribution.h"

namespace fairlead::controller {
namespace {

// Of Student's distribution, from the normal one. Low for one or two degrees of freedom, which hardly differ from
// three: all three are wide.
// Args: 0 < p <= 0.5, of the upper side.
double StudentQuantile(double p, double degrees) {
  const double z = -NormalQuantile(p);
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * degrees * degrees * degrees);
}

}  // namespace

void PrioritySpread::Add(FlopPerSecond priority) {
  const double value = std::log(priority.value());
  if (!std::isfinite(value)) return;
  if (num_values_ == kMemory) {
    // The mean forgets one value's worth.
    sum_of_squares_ *= 1 - 1.0 / kMemory;
  } else {
    ++num_values_;
  }
  const double before = value - mean_;
  mean_ += before / num_values_;
  sum_of_squares_ += before * (value - mean_);
}

double PrioritySpread::HalfWidth(double error_probability) const {
  FL_CHECK(error_probability > 0 && error_probability <= 0.5);
  if (num_values_ < 2) return 0;
  const double degrees = num_values_ - 1.0;
  return std::sqrt(sum_of_squares_ / degrees) * StudentQuantile(error_probability, degrees);
}

}  // namespace fairlead::controller
