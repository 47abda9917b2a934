// Open points of MLTCP.
#pragma once

#include "base/status.h"

namespace fairlead::traffic::mltcp {

// Of which bytes F counts the share that is sent.
enum class Progress {
  kFlow,  // of the flow's own in this iteration
  kJob,   // of all flows of the job in this iteration
};

struct MltcpOptions {
  // F(r) = slope * r + intercept. Slope in [0, 1e6]. 0: flows push alike, as under ECMP. Larger: the flow that is
  // further ahead gets more of a link, and jobs interleave in fewer iterations.
  double slope = 1.75;
  // In [1e-3, 1e6]. Smaller: flows that have just begun yield more.
  double intercept = 0.25;
  Progress progress = Progress::kFlow;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::traffic::mltcp
