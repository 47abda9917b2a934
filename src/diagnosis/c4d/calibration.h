// How often is a finding right of which its detector is that sure?
//
// Problem     detectors score by their own rules: 0.95 of one is not 0.95 of another, and none was ever counted.
// Method      recordings with known faults (tests/foreign_telemetry) were diagnosed and judged; a table says how many
//             findings of each score were right (calibration_table.h, made by calibrate.py there). Neighbouring scores
//             are pooled until the share right ascends with the score (pool adjacent violators), drawn towards the
//             score by four pseudo-cases, and held below what so few cases can show at all: 0.05^(1/n) of n.
// Guarantees  ascends with the score; never above what the cases of its kind can show; kinds that no recording has are
//             held at kUnseenMax.
// Reference   docs/papers/c4.md, "Confidence"; the specification's page on diagnosis methods, section 3.
#pragma once

#include <cstdint>
#include <span>

#include "model/finding.h"

namespace fairlead::diagnosis::c4d {

// Findings with scores from `score_min` up to that of the next bin.
struct CalibrationBin {
  double score_min = 0;
  uint32_t cases = 0;
  uint32_t right = 0;
  double confidence = 0;
};

inline constexpr double kUnseenMax = 0.6;

// Bins of the kind of finding, ascending; empty: no recording has it.
std::span<const CalibrationBin> CalibrationOf(model::Syndrome syndrome);

// Args: score, 0..1. Returns: 0..1.
double Calibrated(model::Syndrome syndrome, double score);

}  // namespace fairlead::diagnosis::c4d
