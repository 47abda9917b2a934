// How many descriptors may this process have open?
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace fairlead {

// Lets this process open as many descriptors as it may: sets the soft limit (RLIMIT_NOFILE) to the hard one. For
// programs with a connection for each host or process, which the usual 1024 are too few for; not for code that is
// loaded into processes of others, which may use select(). Children inherit it.
// Returns the limit from now on; UINT64_MAX: none. Errors: kFailedPrecondition, with both limits as they stay.
Result<uint64_t> RaiseDescriptorLimit();

// For the log: "may have 524288 descriptors open", or why it is not as many as it could be. Raises the limit.
std::string DescribeRaisedDescriptorLimit();

}  // namespace fairlead
