#include "sim/period_detector.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead::sim {

std::optional<double> Distance(const DomainSnapshot& a, const DomainSnapshot& b, double give_up_above_ns) {
  if (a.discrete != b.discrete) return std::nullopt;
  double distance = 0;
  for (size_t i = 0; i < a.progress_ns.size(); ++i) {
    distance = std::max(distance, std::abs(static_cast<double>(a.progress_ns[i] - b.progress_ns[i])));
    if (distance > give_up_above_ns) return std::nullopt;
  }
  for (size_t i = 0; i < a.left_ns.size(); ++i) {
    distance = std::max(distance, std::abs(a.left_ns[i] - b.left_ns[i]));
    if (distance > give_up_above_ns) return std::nullopt;
  }
  return distance;
}

std::optional<Period> PeriodDetector::Observe(DomainSnapshot snapshot) {
  std::optional<Period> found;
  std::vector<double> distances(history_.size() + 1, -1.0);
  for (size_t lag = 1; lag <= history_.size() && !found; ++lag) {
    const DomainSnapshot& before = history_[history_.size() - lag];
    const int64_t length = snapshot.local_ns - before.local_ns;
    if (length <= 0) continue;
    // States further apart than this are not yet near a cycle, whatever their trend.
    const double near = 0.05 * static_cast<double>(length);
    const auto distance = Distance(snapshot, before, near);
    if (!distance) continue;
    distances[lag] = *distance;
    if (*distance <= kExactNs) {
      found = Period{.lag = lag, .length_ns = length, .error_ns = 0};
    } else if (lag < last_distance_.size() && last_distance_[lag] >= 0 && *distance <= 0.5 * last_distance_[lag] &&
               2 * *distance <= kConvergedFraction * static_cast<double>(length)) {
      found = Period{.lag = lag, .length_ns = length, .error_ns = 2 * *distance};
    }
  }
  last_distance_ = std::move(distances);
  history_.push_back(std::move(snapshot));
  if (history_.size() > kMaxLag) history_.pop_front();
  return found;
}

}  // namespace fairlead::sim
