// An application with speeds measured at some numbers of GPUs, as a profile for the simulator of elastic jobs.
//
// Method       seconds of an iteration between two measured numbers of GPUs: linear in the logarithm of the GPUs.
// Guarantees   exactly the measured speed at measured sizes, wherever the GPUs are: such measurements say nothing about
//              placements. Zero, negative and missing speeds are holes (out of memory, not measured): sizes below the
//              first and above the last good one are not offered, others are filled as between any two.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "sim/elastic/application_profile.h"

namespace fairlead::sim {

// Iterations per second of one job alone, by GPUs; holes may be missing or have a speed that is not positive.
using MeasuredSpeeds = std::map<uint32_t, double>;

struct MeasuredApplication {
  std::string name;
  uint32_t global_batch = 0;  // at every number of GPUs
  double num_iterations = 0;  // from start to end
  MeasuredSpeeds speeds;
};

// Errors: kInvalidArgument naming the application: no speed at all, none on one GPU (the simulator's smallest size), a
// speed that is not finite, no batch, no iterations, more than 4096 GPUs.
Result<ApplicationProfile> ProfileOfMeasured(const MeasuredApplication& application);

}  // namespace fairlead::sim
