// How evenly the two ports of bonded NICs were used in a run.
#pragma once

#include "lab/lab_plan.h"
#include "lab/lab_run.h"

namespace fairlead::lab {

// Share of a NIC's bytes that its busiest port had, over NICs of several ports that had any: of two ports 0.5 is even
// and 1 is all on one. Both are 0 where there is no such NIC.
struct PortBalance {
  double mean = 0;
  double worst = 0;
};

// Of what NICs sent, and of what arrived at them. Args: plan: of the lab of the run.
PortBalance PortsSending(const LabPlan& plan, const LabRunResult& run);
PortBalance PortsReceiving(const LabPlan& plan, const LabRunResult& run);

}  // namespace fairlead::lab
