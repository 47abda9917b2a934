#include "base/student_t.h"

#include <cmath>
#include <numbers>

#include "base/check.h"

namespace fairlead {

namespace {

// The finite sums of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4, in
// theta = atan(t / sqrt(degrees)).
double ProbabilityAtAngle(double theta, uint32_t degrees) {
  const double cosine = std::cos(theta);
  const bool is_odd = degrees % 2 == 1;
  double term = is_odd ? cosine : 1;
  double sum = degrees == 1 ? 0 : term;
  for (uint32_t i = is_odd ? 3 : 2; i < degrees; i += 2) {
    term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  const double series = std::sin(theta) * sum;
  return is_odd ? 2 / std::numbers::pi * (theta + series) : series;
}

}  // namespace

double StudentTProbability(double t, uint32_t degrees) {
  FL_CHECK(t >= 0 && degrees >= 1);
  return ProbabilityAtAngle(std::atan(t / std::sqrt(static_cast<double>(degrees))), degrees);
}

double StudentTQuantile(double probability, uint32_t degrees) {
  FL_CHECK(probability > 0 && probability < 1 && degrees >= 1);
  double low = 0;
  double high = std::numbers::pi / 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (ProbabilityAtAngle(middle, degrees) < probability ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees)) * std::tan(low);
}

}  // namespace fairlead
