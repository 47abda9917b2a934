// Commented scenarios to begin with: every key with its meaning, those that matter less commented out. The comments are
// the declarations of the keys (scenario_keys.h), so they say what the reader does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::sim {

// "clos", "rail", "lab".
std::vector<std::string_view> ScenarioTemplateNames();

// A whole scenario file. Lines that begin with '#' and no space are keys that a user may want: without the '#' the
// scenario is valid, too. Errors: kNotFound, naming those that exist.
Result<std::string> ScenarioTemplate(std::string_view name);

}  // namespace fairlead::sim
