#include "controller/priority_spread.h"

#include <cmath>

#include "base/check.h"
#include "base/student_t.h"

namespace fairlead::controller {

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
  // Errors of one side; the quantile is of both.
  const double inside = 1 - 2 * error_probability;
  if (inside <= 0) return 0;
  const uint32_t degrees = num_values_ - 1;
  return std::sqrt(sum_of_squares_ / degrees) * StudentTQuantile(inside, degrees);
}

}  // namespace fairlead::controller
