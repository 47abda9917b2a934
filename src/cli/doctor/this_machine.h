// The machine that this program runs on.
#pragma once

#include <memory>

#include "cli/doctor/machine.h"

namespace fairlead::cli {

// Thread: ReachController() starts threads; call it last, as the other functions fork.
std::unique_ptr<Machine> MakeThisMachine();

}  // namespace fairlead::cli
