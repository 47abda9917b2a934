#include "cli/named_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "base/nearest_word.h"

namespace fairlead::cli {

CLI::Validator OneOf(std::vector<std::string> names) {
  std::string description = fmt::format("{{{}}}", fmt::join(names, ","));
  return CLI::Validator(
      [names = std::move(names)](std::string& value) -> std::string {
        if (std::ranges::count(names, value) > 0) return "";
        return fmt::format("expected one of {}, found '{}'{}", fmt::join(names, ", "), value, DidYouMean(value, names));
      },
      std::move(description));
}

CLI::Validator OneOf(std::span<const std::string_view> names) {
  return OneOf(std::vector<std::string>(names.begin(), names.end()));
}

}  // namespace fairlead::cli
