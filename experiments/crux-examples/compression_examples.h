// Few levels for many jobs: the examples of Crux section 4.3 (Figures 13 and 14).
#pragma once

#include <cstdint>

#include "experiment/experiment.h"

namespace fairlead::experiments::crux_examples {

// Levels and weights that each method keeps, and how often a random topological order finds the optimum.
void AddCompressionExamples(uint64_t seed, experiment::Outcome* outcome);

}  // namespace fairlead::experiments::crux_examples
