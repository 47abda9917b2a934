// How far the fluid engine is from packets: times of messages in small cases, by both.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::packet_level {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::packet_level
