// fairlead predict speed, one of the commands of predict_command.cc.
#pragma once

#include "cli/command.h"

namespace fairlead::cli {

// Adds `speed` to the command `predict`. The invocation outlives the app.
void AddPredictSpeedCommand(CLI::App& predict, Invocation* invocation);

}  // namespace fairlead::cli
