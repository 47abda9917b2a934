// Where this program lies, to find what came with it.
#pragma once

#include <string>

#include "base/status.h"

namespace fairlead {

// Absolute, with links resolved. Errors: kUnavailable: /proc is not there.
Result<std::string> ThisProgram();

}  // namespace fairlead
