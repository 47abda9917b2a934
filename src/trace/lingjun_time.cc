#include "trace/lingjun_time.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>

namespace fairlead::trace {

namespace {

constexpr int64_t kWholeDayS = 86400;

// Takes a number of 1 to `max_digits` digits and the character behind it (0: the end) off the front of `text`.
std::optional<int> TakeNumber(std::string_view* text, size_t max_digits, char behind) {
  int value = 0;
  if (text->empty() || text->front() < '0' || text->front() > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  const auto digits = static_cast<size_t>(end - text->data());
  if (error != std::errc() || digits > max_digits) return std::nullopt;
  text->remove_prefix(digits);
  if (behind == 0) return text->empty() ? std::make_optional(value) : std::nullopt;
  if (text->empty() || text->front() != behind) return std::nullopt;
  text->remove_prefix(1);
  return value;
}

}  // namespace

std::optional<int64_t> ParseLingjunTime(std::string_view text) {
  const auto year = TakeNumber(&text, 4, '/');
  const auto month = year ? TakeNumber(&text, 2, '/') : std::nullopt;
  const auto day = month ? TakeNumber(&text, 2, ' ') : std::nullopt;
  const auto hour = day ? TakeNumber(&text, 2, ':') : std::nullopt;
  const auto minute = hour ? TakeNumber(&text, 2, 0) : std::nullopt;
  if (!minute || *year < 1970 || *hour > 23 || *minute > 59) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * kWholeDayS + int64_t{*hour} * 3600 + int64_t{*minute} * 60;
}

std::string FormatLingjunTime(int64_t seconds) {
  const std::chrono::sys_days days{std::chrono::days(seconds / kWholeDayS)};
  const std::chrono::year_month_day date(days);
  const int64_t in_day = seconds % kWholeDayS;
  return fmt::format("{}/{}/{} {:02}:{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), in_day / 3600, in_day % 3600 / 60);
}

}  // namespace fairlead::trace
