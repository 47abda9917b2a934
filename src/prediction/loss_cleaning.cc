#include "prediction/loss_cleaning.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/statistics.h"

namespace fairlead::prediction {

namespace {

std::vector<double> Losses(std::span<const LossPoint> points) {
  std::vector<double> losses;
  losses.reserve(points.size());
  for (const LossPoint& point : points) losses.push_back(point.loss);
  return losses;
}

struct MeanAndDeviation {
  double mean = 0;
  double deviation = 0;
};

// Of the changes from points[first - 1] to points[last - 1], one for each neighbouring pair.
MeanAndDeviation ChangesBetween(std::span<const LossPoint> points, size_t first, size_t last) {
  MeanAndDeviation result;
  const auto count = static_cast<double>(last - first);
  for (size_t i = first; i < last; ++i) result.mean += (points[i].loss - points[i - 1].loss) / count;
  for (size_t i = first; i < last; ++i) {
    const double off = points[i].loss - points[i - 1].loss - result.mean;
    result.deviation += off * off / count;
  }
  result.deviation = std::sqrt(result.deviation);
  return result;
}

}  // namespace

UnpredictableReason FindCurveProblem(std::span<const LossPoint> points, size_t min_points) {
  if (points.empty()) return UnpredictableReason::kNoObservations;
  for (size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i].loss) || !std::isfinite(points[i].iteration)) return UnpredictableReason::kNotFinite;
    if (points[i].loss <= 0) return UnpredictableReason::kNotPositive;
    if (i > 0 && points[i].iteration <= points[i - 1].iteration) return UnpredictableReason::kOutOfOrder;
  }
  if (points.size() < min_points) return UnpredictableReason::kTooFewPoints;
  const size_t third = std::max<size_t>(points.size() / 3, 1);
  if (Median(Losses(points.last(third))) > Median(Losses(points.first(third)))) return UnpredictableReason::kRising;
  return UnpredictableReason::kNone;
}

std::vector<LossPoint> DropOutliers(std::span<const LossPoint> points, size_t window, double deviations) {
  std::vector<LossPoint> kept;
  const size_t half = window / 2;
  for (size_t i = 0; i < points.size(); ++i) {
    // Full windows at the ends too, so that the steep start of a curve is not its own outlier.
    const size_t first = std::min(i >= half ? i - half : 0, points.size() - std::min(window, points.size()));
    const auto around = points.subspan(first, std::min(window, points.size()));
    std::vector<double> losses = Losses(around);
    const double median = Median(losses);
    for (double& loss : losses) loss = std::abs(loss - median);
    const double deviation = Median(std::move(losses));
    const bool is_falling = i + 1 < points.size() && points[i].loss >= points[i + 1].loss &&
                            (i == 0 || points[i - 1].loss >= points[i].loss);
    if (deviation == 0 || is_falling || std::abs(points[i].loss - median) <= deviations * deviation) {
      kept.push_back(points[i]);
    }
  }
  return kept;
}

std::optional<size_t> FindLastDrop(std::span<const LossPoint> points, double deviations, size_t window) {
  for (size_t i = points.size(); i-- > window + 1;) {
    if (i + 1 >= points.size()) continue;  // one low point may be an accident
    const MeanAndDeviation recent = ChangesBetween(points, i - window, i);
    const double change = points[i].loss - points[i - 1].loss;
    // A smooth curve has no deviation to speak of; there a fall counts only when it is large against its own pace.
    const double noise = std::max(recent.deviation, std::abs(recent.mean));
    const bool stays_down = points[i + 1].loss < (points[i - 1].loss + points[i].loss) / 2;
    if (noise > 0 && change < recent.mean - deviations * noise && stays_down) return i;
  }
  return std::nullopt;
}

}  // namespace fairlead::prediction
