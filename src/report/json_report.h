// The result of `fairlead sim run --json`: everything that was measured, for programs.
//
// The keys that others rely on (docs: "the command line, and the JSON that others rely on") come first in each object
// and never change meaning; the rest may grow. Unknown numbers are null; there is no NaN and no Infinity.
#pragma once

#include <string>

#include "report/json_value.h"
#include "sim/run_result.h"

namespace fairlead::report {

// Every key: docs/reference/sim-run-json.md. Times in s, JCT null while unfinished, utilization and fractions 0..1,
// link and job ids as numbers.
Json ToJson(const sim::SimulationReport& report);

// {"kind", "job", "link", "gpu_hours", "lost_s"}.
Json ToJson(const sim::LossResult& loss);

// The same as text.
std::string RenderJson(const sim::SimulationReport& report);

}  // namespace fairlead::report
