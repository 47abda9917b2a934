// How good are scores? Accuracy, precision, recall, Brier score, calibration.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace fairlead::prediction {

struct CalibrationBin {
  size_t count = 0;
  double mean_score = 0;
  double positive_share = 0;  // equal to mean_score where scores are well calibrated
};
inline constexpr size_t kNumCalibrationBins = 10;

struct ClassifierMetrics {
  size_t count = 0;
  double accuracy = 0;
  double majority = 0;                                            // accuracy of always saying the more frequent label
  double precision = 0;                                           // NaN when nothing was called predictable
  double recall = 0;                                              // NaN when nothing is
  double brier = 0;                                               // mean squared distance of score and label; 0 is best
  std::array<CalibrationBin, kNumCalibrationBins> calibration{};  // scores 0 … 0.1, …, 0.9 … 1
};

// Args: of the same length; scores in [0, 1], labels 0 or 1. A score of `threshold` and more says 1.
ClassifierMetrics MeasureClassifier(std::span<const double> scores, std::span<const double> labels,
                                    double threshold = 0.5);

}  // namespace fairlead::prediction
