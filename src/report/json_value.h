// JSON as all of our commands and daemons write it. Unknown numbers are null; there is no NaN and no Infinity.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fairlead::report {

using Json = nlohmann::ordered_json;

// As text, indented, UTF-8, with a line break at the end. Broken UTF-8 in names becomes U+FFFD.
std::string Dump(const Json& json);

// A number, or null when it is not finite.
Json NumberOrNull(double value);
// A name, or null when it is empty.
Json NameOrNull(const std::string& name);

}  // namespace fairlead::report
