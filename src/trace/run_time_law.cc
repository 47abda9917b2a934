#include "trace/run_time_law.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "base/check.h"

namespace fairlead::trace {

Result<RunTimeLaw> RunTimeLaw::Create(std::vector<double> probabilities, std::vector<double> values) {
  if (probabilities.size() < 2 || probabilities.size() != values.size()) {
    return InvalidArgument("expected as many values as probabilities, two or more");
  }
  if (probabilities.front() != 0 || probabilities.back() != 1) {
    return InvalidArgument("expected probabilities from 0 to 1");
  }
  const auto is_ascending = [](const std::vector<double>& v) {
    return std::adjacent_find(v.begin(), v.end(), std::greater_equal<>()) == v.end();
  };
  if (!is_ascending(probabilities) || !is_ascending(values) || !(values.front() > 0)) {
    return InvalidArgument("expected probabilities and values in strictly ascending order, and values above 0");
  }
  return RunTimeLaw(std::move(probabilities), std::move(values));
}

RunTimeLaw::RunTimeLaw() : RunTimeLaw({0, 1}, {1, 2}) {}

RunTimeLaw::RunTimeLaw(std::vector<double> probabilities, std::vector<double> values)
    : probabilities_(std::move(probabilities)), values_(std::move(values)), knee_value_(values_.back()) {}

double RunTimeLaw::Interpolate(double p) const {
  if (p >= 1) return values_.back();
  const auto above = std::upper_bound(probabilities_.begin(), probabilities_.end(), std::max(p, 0.0));
  const auto i = static_cast<size_t>(above - probabilities_.begin());
  const double share = (p - probabilities_[i - 1]) / (probabilities_[i] - probabilities_[i - 1]);
  return values_[i - 1] * std::pow(values_[i] / values_[i - 1], share);
}

double RunTimeLaw::Quantile(double p) const {
  const double value = Interpolate(p);
  return value <= knee_value_ ? value : knee_value_ + (value - knee_value_) * tail_scale_;
}

double RunTimeLaw::Cdf(double value) const {
  if (value > knee_value_) value = knee_value_ + (value - knee_value_) / tail_scale_;
  if (value < values_.front()) return 0;
  if (value >= values_.back()) return 1;
  const auto above = std::upper_bound(values_.begin(), values_.end(), value);
  const auto i = static_cast<size_t>(above - values_.begin());
  const double share = std::log(value / values_[i - 1]) / std::log(values_[i] / values_[i - 1]);
  return probabilities_[i - 1] + share * (probabilities_[i] - probabilities_[i - 1]);
}

RunTimeLaw RunTimeLaw::ScaleTail(double knee, double scale) const {
  FL_CHECK(scale > 0 && tail_scale_ == 1);
  RunTimeLaw scaled = *this;
  scaled.knee_value_ = Interpolate(knee);
  scaled.tail_scale_ = scale;
  return scaled;
}

}  // namespace fairlead::trace
