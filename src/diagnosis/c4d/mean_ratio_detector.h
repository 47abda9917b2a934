// The rival of the delay matrix: how many times slower than the mean is each?
//
// Method      a row is slow if its mean is row_limit times the mean of all cells, a column likewise, and a cell if it
//             is point_limit times that mean. Cells of slow rows and columns are set aside.
// Guarantees  with N rows the ratio of one to the mean of all can't exceed N, so a limit of 3 never fires for N <= 3;
//             and two faults raise the mean that each is compared with. That is why it is the rival.
// Reference   DeepXTrace (antgroup/DeepXTrace): limits 3, 3 and 5.
#pragma once

#include <cstdint>
#include <span>

#include "diagnosis/c4d/delay_matrix.h"

namespace fairlead::diagnosis::c4d {

struct MeanRatioLimits {
  double row = 3;
  double column = 3;
  double point = 5;
};

// As ScoreDelays, with ratios as scores z.
DelayVerdict CompareWithMean(std::span<const DelayCell> cells, uint32_t num_sources, uint32_t num_destinations,
                             const MeanRatioLimits& limits = {});

}  // namespace fairlead::diagnosis::c4d
