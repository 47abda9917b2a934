// The keys of a scenario: types, units, ranges, defaults and meanings. What the reader accepts (scenario.h), and what
// the reference page and the JSON schema say.
#pragma once

#include "base/yaml_keys.h"

namespace fairlead::sim {

extern const YamlMapKeys kScenarioKeys;

}  // namespace fairlead::sim
