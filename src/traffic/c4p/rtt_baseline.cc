#include "traffic/c4p/rtt_baseline.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace fairlead::traffic::c4p {
namespace {

using Samples = std::array<float, RttBaseline::kCapacity>;

constexpr double kMadToSigma = 1.4826;     // of a normal distribution
constexpr double kFloor = 0.048790164169;  // log 1.05

// Median of the first `size` >= 1 values, the mean of both middle ones for even sizes.
double MedianOf(Samples values, size_t size) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(size / 2);
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(size);
  std::nth_element(values.begin(), middle, end);
  if (size % 2 == 1) return *middle;
  return 0.5 * (double{*middle} + double{*std::max_element(values.begin(), middle)});
}

}  // namespace

void RttBaseline::Add(Seconds rtt) {
  FL_CHECK(std::isfinite(rtt.value()) && rtt > Seconds(0));
  logs_[next_] = static_cast<float>(std::log(rtt.value()));
  next_ = static_cast<uint8_t>((next_ + 1) % kCapacity);
  size_ = static_cast<uint8_t>(std::min<size_t>(size_ + 1, kCapacity));
}

std::optional<double> RttBaseline::Score(Seconds rtt) const {
  FL_CHECK(std::isfinite(rtt.value()) && rtt > Seconds(0));
  if (size_ < kMinSamples) return std::nullopt;
  const double median = MedianOf(logs_, size_);
  Samples deviations = logs_;
  for (size_t i = 0; i < size_; ++i) deviations[i] = static_cast<float>(std::abs(double{logs_[i]} - median));
  return (std::log(rtt.value()) - median) / std::max(kMadToSigma * MedianOf(deviations, size_), kFloor);
}

Seconds RttBaseline::Median() const { return Seconds(size_ == 0 ? 0 : std::exp(MedianOf(logs_, size_))); }

}  // namespace fairlead::traffic::c4p
