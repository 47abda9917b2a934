// MonkeyTree's published setting: 1,024 GPUs under uplinks 4:1 at rising loads, with hashed paths, Crux, SGLB, perfect
// paths, and with workers that migrate.
#pragma once

#include "base/status.h"
#include "experiment/experiment.h"

namespace fairlead::experiments::monkey_tree {

Result<experiment::Outcome> Run(const experiment::RunContext& context);

}  // namespace fairlead::experiments::monkey_tree
