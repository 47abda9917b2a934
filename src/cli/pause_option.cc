#include "cli/pause_option.h"

#include <fmt/format.h>

#include <cmath>

#include "base/whole_number.h"

namespace fairlead::cli {

std::optional<double> ParseNumber(std::string_view text) {
  const std::optional<double> value = ParseWhole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

Result<PauseSeconds> ParsePauseSeconds(const std::string& text) {
  constexpr double kHigh = 1e7;
  const std::string_view view = text;
  const size_t dash = view.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<double> from = ParseNumber(view.substr(0, dash));
    const std::optional<double> until = ParseNumber(view.substr(dash + 1));
    if (from && until && *from >= 0 && *from < *until && *until <= kHigh) {
      return PauseSeconds{Seconds(*from), Seconds(*until)};
    }
  }
  return InvalidArgument(fmt::format("--pause {}: expected FROM-UNTIL in seconds, such as 600-900", text));
}

}  // namespace fairlead::cli
