// Made by tests/foreign_telemetry/calibrate.py from the recordings of the tuned families; do not edit.
#pragma once

#include <array>

#include "diagnosis/c4d/calibration.h"

namespace fairlead::diagnosis::c4d {

// comm_hang, non_comm_hang, dead: {least score, cases, right, confidence}
inline constexpr std::array<CalibrationBin, 2> kStalledBins = {{{0.3, 5, 0, 0.1333}, {0.9, 34, 34, 0.9157}}};
// comm_slow, non_comm_slow: {least score, cases, right, confidence}
inline constexpr std::array<CalibrationBin, 3> kSlowBins = {
    {{0.4, 8, 0, 0.1333}, {0.8023, 17, 15, 0.8384}, {0.8986, 32, 32, 0.9106}}};
// mismatch, unreachable: {least score, cases, right, confidence}
inline constexpr std::array<CalibrationBin, 0> kOtherBins = {};

}  // namespace fairlead::diagnosis::c4d
