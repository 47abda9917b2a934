// Two jobs on one link: which should go first? Examples 1 and 2 of Crux section 4.2 (Figures 11 and 12).
#pragma once

#include "experiment/experiment.h"

namespace fairlead::experiments::crux_examples {

// Tables of both figures, the gains d and the factor k at several horizons and phases, and a schedule of each case.
void AddPairExamples(experiment::Outcome* outcome);

}  // namespace fairlead::experiments::crux_examples
