#include "prediction/classifier_metrics.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::prediction {

ClassifierMetrics MeasureClassifier(std::span<const double> scores, std::span<const double> labels, double threshold) {
  FL_CHECK(scores.size() == labels.size());
  ClassifierMetrics metrics;
  metrics.count = scores.size();
  if (scores.empty()) return metrics;
  const auto n = static_cast<double>(scores.size());
  double true_positives = 0;
  double called = 0;
  double positives = 0;
  double correct = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const bool says = scores[i] >= threshold;
    const bool is = labels[i] > 0.5;
    true_positives += says && is;
    called += says;
    positives += is;
    correct += says == is;
    metrics.brier += (scores[i] - labels[i]) * (scores[i] - labels[i]) / n;
    const auto bin = static_cast<size_t>(scores[i] * static_cast<double>(kNumCalibrationBins));
    CalibrationBin& in = metrics.calibration[std::min(bin, kNumCalibrationBins - 1)];
    ++in.count;
    in.mean_score += scores[i];
    in.positive_share += is;
  }
  for (CalibrationBin& bin : metrics.calibration) {
    if (bin.count == 0) continue;
    bin.mean_score /= static_cast<double>(bin.count);
    bin.positive_share /= static_cast<double>(bin.count);
  }
  metrics.accuracy = correct / n;
  metrics.majority = std::max(positives, n - positives) / n;
  metrics.precision = true_positives / called;
  metrics.recall = true_positives / positives;
  return metrics;
}

}  // namespace fairlead::prediction
