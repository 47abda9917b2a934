// Options that take one of a few names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class Validator;
}

namespace fairlead::cli {

// Refuses other values: "expected one of ecmp, crux, found 'curx'; did you mean 'crux'?". Help, completion and
// reference list the names.
CLI::Validator OneOf(std::vector<std::string> names);
CLI::Validator OneOf(std::span<const std::string_view> names);

}  // namespace fairlead::cli
