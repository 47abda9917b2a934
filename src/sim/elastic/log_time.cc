#include "sim/elastic/log_time.h"

#include <array>
#include <charconv>
#include <chrono>

namespace fairlead::sim {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;

// A number of as many digits as are left of `*text` before `behind` (0: the end), which is taken off, too.
std::optional<int> TakeNumber(std::string_view* text, char behind) {
  const size_t end = behind == 0 ? text->size() : text->find(behind);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  int value = 0;
  const auto [at, error] = std::from_chars(text->data(), text->data() + end, value);
  if (error != std::errc() || at != text->data() + end || value < 0) return std::nullopt;
  text->remove_prefix(behind == 0 ? end : end + 1);
  return value;
}

}  // namespace

std::optional<int64_t> ParseLogTime(std::string_view text) {
  text = text.substr(0, text.find('+'));
  std::array<int, 6> parts{};
  constexpr std::array<char, 6> kBehind = {'-', '-', ' ', ':', ':', 0};
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto part = TakeNumber(&text, kBehind[i]);
    if (!part) return std::nullopt;
    parts[i] = *part;
  }
  const std::chrono::year_month_day date{std::chrono::year(parts[0]),
                                         std::chrono::month(static_cast<unsigned>(parts[1])),
                                         std::chrono::day(static_cast<unsigned>(parts[2]))};
  if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kSecondsPerDay + int64_t{parts[3]} * 3600 + int64_t{parts[4]} * 60 + parts[5];
}

}  // namespace fairlead::sim
