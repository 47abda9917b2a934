// The experiments that `fairlead experiment` offers: the one list that a new one is added to.
#pragma once

#include <vector>

#include "experiment/experiment.h"

namespace fairlead::experiments {

// In the order of the papers' sections.
std::vector<experiment::Experiment> AllExperiments();

}  // namespace fairlead::experiments
