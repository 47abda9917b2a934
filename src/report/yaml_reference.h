// The reference of a YAML file, made from the declarations of its keys (base/yaml_keys.h): a page for people and a
// schema for editors.
#pragma once

#include <string>

#include "base/yaml_keys.h"
#include "report/json_value.h"

namespace fairlead::report {

// JSON Schema, draft 7, which editors read (yaml-language-server). It is as strict as the reader about names, types,
// ranges, kinds, and keys that need or exclude each other; what depends on other values, only the reader knows.
// Args: id: what the schema calls itself.
Json YamlSchema(const YamlMapKeys& root, const std::string& id);

// Markdown: one table for each map, the outermost first, each once; "type" has the unit, "default" what holds without
// the key.
std::string YamlReferencePage(const YamlMapKeys& root, const std::string& introduction);

}  // namespace fairlead::report
