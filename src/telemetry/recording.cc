#include "telemetry/recording.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::telemetry {

std::string ListNumbers(const std::vector<uint32_t>& numbers) {
  constexpr size_t kNumShown = 5;
  std::string list;
  const size_t num_shown = std::min(numbers.size(), kNumShown);
  for (size_t i = 0; i < num_shown; ++i) {
    const bool is_last = i + 1 == numbers.size();
    list += fmt::format("{}{}", i == 0 ? "" : is_last ? " and " : ", ", numbers[i]);
  }
  if (numbers.size() > num_shown) list += fmt::format(" and {} more", numbers.size() - num_shown);
  return list;
}

}  // namespace fairlead::telemetry
