// What the diagnosis should say about a planted fault: the ground truth that its findings are judged by.
#pragma once

#include <vector>

#include "execution/fault.h"
#include "execution/job_shape.h"
#include "execution/noise.h"
#include "model/finding.h"

namespace fairlead::execution {

struct ExpectedFinding {
  // Any of these is right. Empty: no component is at fault, and no finding may be confirmed.
  std::vector<model::Syndrome> syndromes;
  // A right finding names only some of these; the most precise first.
  std::vector<model::Culprit> culprits;
  // Whether silence is wrong, too. A short stall may pass unnoticed.
  bool is_required = true;
};

// `fault` must be valid for `shape`, and `layout` be that of `shape`. Of a fault that has acted.
ExpectedFinding ExpectFinding(const Fault& fault, const JobShape& shape, const model::JobLayout& layout,
                              const NoiseOptions& noise = {});

// A stall of a checkpoint that is longer than this must be found, once its communicator is warm; a shorter one may be:
// the specification's patience is ten usual durations, and a checkpoint usually takes as long as its slowest writer.
double SureStallSeconds(const JobShape& shape, const NoiseOptions& noise);

// Whether the syndrome is right and all culprits are.
bool Accepts(const ExpectedFinding& expected, const model::Finding& finding);

}  // namespace fairlead::execution
