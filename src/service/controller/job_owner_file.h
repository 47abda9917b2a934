// The operator's map of users to jobs (controller/job_owner_map.h) as a file that nobody else can write.
#pragma once

#include <string>

#include "base/status.h"
#include "controller/job_owner_map.h"

namespace fairlead::service {

// Errors: kNotFound; kFailedPrecondition: it, or a folder that leads to it, belongs to another user than root and the
// one of this process, or others may write it (a folder where they may not replace what is not theirs, as /tmp, is as
// good): says which, and what to do; kInvalidArgument: a line that can't be read.
Result<controller::JobOwnerMap> LoadJobOwnerMap(const std::string& path);

}  // namespace fairlead::service
