// Made by tests/foreign_telemetry/calibrate.py from the recordings of the first suite; do not edit.
#pragma once

#include <array>

#include "diagnosis/c4d/calibration.h"

namespace fairlead::diagnosis::c4d {

// comm_hang, non_comm_hang, dead: {least score, cases, right, confidence}
inline constexpr std::array<CalibrationBin, 2> kStalledBins = {{{0.3, 18, 1, 0.1}, {0.9, 51, 51, 0.943}}};
// comm_slow, non_comm_slow: {least score, cases, right, confidence}
inline constexpr std::array<CalibrationBin, 2> kSlowBins = {{{0.4, 15, 1, 0.1368}, {0.8027, 72, 72, 0.9592}}};
// mismatch, unreachable: {least score, cases, right, confidence}
inline constexpr std::array<CalibrationBin, 0> kOtherBins = {};

}  // namespace fairlead::diagnosis::c4d
