// Numbers inside of options of `fairlead diag`: pauses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace fairlead::cli {

// The whole text as a decimal number; nothing: it is none.
std::optional<double> ParseNumber(std::string_view text);

struct PauseSeconds {
  Seconds from;
  Seconds until;
};

// "600-900". Errors: kInvalidArgument, naming --pause and what was found.
Result<PauseSeconds> ParsePauseSeconds(const std::string& text);

}  // namespace fairlead::cli
