// What a step of steering did to a job, in words, for its account.
#pragma once

#include <string>

#include "slurm/steering_steps.h"

namespace fairlead::slurm {

// Empty: nothing that its owner need know: a step that is not over, is tried again, or did nothing to a job.
std::string WordsOfStep(const StepOrder& order, const StepProgress& progress);

}  // namespace fairlead::slurm
