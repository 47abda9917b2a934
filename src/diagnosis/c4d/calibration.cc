#include "diagnosis/c4d/calibration.h"

#include <algorithm>

#include "diagnosis/c4d/calibration_table.h"

namespace fairlead::diagnosis::c4d {

std::span<const CalibrationBin> CalibrationOf(model::Syndrome syndrome) {
  switch (syndrome) {
    case model::Syndrome::kCommHang:
    case model::Syndrome::kNonCommHang:
    case model::Syndrome::kDead:
      return kStalledBins;
    case model::Syndrome::kCommSlow:
    case model::Syndrome::kNonCommSlow:
      return kSlowBins;
    case model::Syndrome::kMismatch:
    case model::Syndrome::kUnreachable:
      return kOtherBins;
  }
  return {};
}

double Calibrated(model::Syndrome syndrome, double score) {
  const std::span<const CalibrationBin> bins = CalibrationOf(syndrome);
  const auto above = std::ranges::upper_bound(bins, score, {}, &CalibrationBin::score_min);
  // Below all that was seen, it can be no surer than the least sure that was.
  if (above == bins.begin()) return std::min(score, bins.empty() ? kUnseenMax : bins.front().confidence);
  return std::prev(above)->confidence;
}

}  // namespace fairlead::diagnosis::c4d
