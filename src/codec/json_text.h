// From JSON text of strangers to a value, with errors that name the line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::codec {

using Json = nlohmann::json;

// Objects and arrays inside each other; real files need fewer than ten.
inline constexpr size_t kJsonDepthMax = 64;

// One JSON value and nothing after it. `name` replaces the file in messages, `first_line` is the line on which `text`
// begins. Errors: kInvalidArgument, as "name:line: …", for what is not JSON or not UTF-8, for a key that occurs twice
// in one object, and beyond kJsonDepthMax. Never throws. Cost: linear; stack use does not grow with the depth.
Result<Json> ParseJson(std::string_view text, const std::string& name, uint64_t first_line = 1);

// JSON with the mistakes that programs make when they print it by hand put right: a comma too much before a closing
// bracket, a comma too few between two members. Text without such mistakes comes back unchanged; other mistakes stay.
std::string RepairCommas(std::string_view text);

// What a value is, for messages: "-3", "'abc'", "a list", "an object"; long texts are cut, bytes beyond printable
// ASCII are replaced.
std::string DescribeValue(const Json& value);

}  // namespace fairlead::codec
