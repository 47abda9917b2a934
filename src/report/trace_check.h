// For tests: whether a timeline is one that Perfetto and chrome://tracing show as it is meant.
#pragma once

#include <string>

#include "report/json_value.h"

namespace fairlead::report {

// Empty where each event has what its kind needs and nothing of another type, all processes and tracks have names,
// slices of a track follow each other or lie within each other, the values of a counter come in order of time, and
// arrows have one end of each kind, in slices, and lead forward in time; else what is wrong with which event.
std::string FindTraceError(const Json& trace);

}  // namespace fairlead::report
