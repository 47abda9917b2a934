// What to say of a name that no running job may have (the rule: shm/job_name.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "shm/job_name.h"

namespace fairlead::model {

// Args: where: what the name was given by: "job", "FAIRLEAD_JOB". Errors: kInvalidArgument: where it was, what was
// expected, and the name as printable ASCII, shortened.
Status CheckJobName(std::string_view name, std::string_view where, size_t bytes_max = shm::kJobNameBytesMax);

// Bytes of strangers for a message: no line break, no escape sequence of a terminal; shortened.
std::string PrintableText(std::string_view text);

}  // namespace fairlead::model
