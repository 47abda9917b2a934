// A place for the controller's page on this machine.
#pragma once

#include <string>

#include "base/status.h"

namespace fairlead::lab {

// "127.0.0.1:PORT" with a port that is free (base/free_port.h). Errors: kUnavailable: there is none.
Result<std::string> FindFreePage();

}  // namespace fairlead::lab
