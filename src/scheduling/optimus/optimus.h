// Optimus: every job gets one unit, then each further unit goes where it shortens remaining time most.
//
// Notation     T(k) -> sizes[k].iteration_s;  gain(k) = (T(k) - T(k+1)) * remaining iterations, seconds.
// Method       1. in order of submission, each job its smallest size while it fits
//              2. repeatedly the next size to the job with the largest gain, while the gain is positive and it fits.
//              Jobs of parameter servers and workers: +1 server or +1 worker, the gain divided by the dominant share of
//              what it takes.
// Cost         O((jobs + units) log jobs).
// Guarantees   no job of unknown remaining time grows beyond its smallest size: Optimus needs a prediction for each.
// Differs      an unpredictable job keeps its smallest size (the paper has none such). A job whose next size doesn't
//              fit is out of the race; others continue. Servers and workers are placed by the common rule, not spread
//              evenly.
// Reference    Peng et al., Optimus, EuroSys 2018, section 4.
// Oracle       exhaustive search on two or three concave jobs (optimus_test.cc): greedy is optimal there.
#pragma once

#include <memory>

#include "scheduling/allocation_policy.h"

namespace fairlead::scheduling::optimus {

struct OptimusOptions {
  // Time between two decisions without events. Shorter: reacts to changed estimates sooner, restarts more.
  double round_s = 600;
};

std::unique_ptr<AllocationPolicy> CreateOptimus(const OptimusOptions& options = {});

}  // namespace fairlead::scheduling::optimus
