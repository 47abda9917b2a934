// Times of day in logs of jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fairlead::sim {

// "2020-04-01 00:05:21", also with a zone behind, which all rows share: seconds since 1970 of the same clock. Nothing:
// it is no such time.
std::optional<int64_t> ParseLogTime(std::string_view text);

}  // namespace fairlead::sim
