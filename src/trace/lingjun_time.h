// The clock of the Lingjun data set: "2023/7/5 15:18", without leading zeros, to the minute, without a zone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fairlead::trace {

// Seconds since 1970-01-01 00:00 of the same clock; nothing for any other text. Years 1970 to 9999, real days only.
std::optional<int64_t> ParseLingjunTime(std::string_view text);

// The inverse; `seconds` >= 0 is cut to the minute.
std::string FormatLingjunTime(int64_t seconds);

}  // namespace fairlead::trace
