// Phases while an iteration is being built: planned in any order, laid out by their start.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "collective/flow_set.h"
#include "model/flow.h"

namespace fairlead::collective {

struct PhasePlan {
  std::string name;
  double start_fraction = 1;  // [0, 1]
  bool blocks_compute = false;
  std::function<void(FlowSet&)> append_flows;
  double num_repeats = 1;  // collectives, one after another, whose bytes are together in one
};

// Fills phases, flows and num_groups of the iteration: phases by start fraction, equal ones in the given order; phases
// without flows vanish.
void LayOutPhases(std::vector<PhasePlan> plans, model::Iteration& iteration);

}  // namespace fairlead::collective
