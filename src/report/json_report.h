// The result of `fairlead sim run --json`: everything that was measured, for programs.
//
// The keys that others rely on (docs: "the command line, and the JSON that others rely on") come first in each object
// and never change meaning; the rest may grow. Unknown numbers are null; there is no NaN and no Infinity.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/policy_comparison.h"
#include "report/run_summary.h"
#include "sim/run_result.h"

namespace fairlead::report {

using Json = nlohmann::ordered_json;

// Every key: docs/reference/sim-run-json.md. Times in s, JCT null while unfinished, utilization and fractions 0..1,
// link and job ids as numbers.
Json ToJson(const sim::SimulationReport& report);

// {"kind", "job", "link", "gpu_hours", "lost_s"}.
Json ToJson(const sim::LossResult& loss);

// The same as text, indented, UTF-8, with a line break at the end. Broken UTF-8 in names becomes U+FFFD.
std::string RenderJson(const sim::SimulationReport& report);

// Text of any of our JSON values, in that form.
std::string Dump(const Json& json);

// A number, or null when it is not finite.
Json NumberOrNull(double value);
// A name, or null when it is empty.
Json NameOrNull(const std::string& name);

}  // namespace fairlead::report
