// Which traffic policy should be the default: random clusters under the policies that compete for it.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::policy_default {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::policy_default
