// Figures 23 and 24 of Crux: one trace on one fabric under all policies.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"
#include "topology/fabric.h"

namespace fairlead::experiments {

// Rows: "utilization, POLICY" at 1:1, "2:1: utilization, POLICY", gains, steps and the order of policies at both.
// `build` makes the fabric for an oversubscription.
Result<experiment::Outcome> CompareTracePolicies(Result<topology::Fabric> (*build)(double oversubscription),
                                                 const experiment::RunContext& context);

}  // namespace fairlead::experiments
