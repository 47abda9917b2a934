// The keys of a `fabric:` section: types, units, ranges, defaults and meanings. What the reader accepts
// (fabric_yaml.h), and what the reference page and the JSON schema say.
#pragma once

#include "base/yaml_keys.h"

namespace fairlead::topology {

// A `fabric:` section.
extern const YamlMapKeys kFabricKeys;
// A file with `fabric` as its only key.
extern const YamlMapKeys kFabricFileKeys;

// In the order of `kind`'s choices.
std::vector<std::string_view> FabricKinds();

}  // namespace fairlead::topology
