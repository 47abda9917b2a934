#include "report/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace fairlead::report {
namespace {

// "1234567.8" -> "1,234,567.8".
std::string GroupThousands(std::string digits) {
  const size_t first = digits.find_first_of("0123456789");
  size_t position = std::min(digits.find('.'), digits.size());
  while (position > first + 3) {
    position -= 3;
    digits.insert(position, 1, ',');
  }
  return digits;
}

bool IsZero(std::string_view number) { return number.find_first_of("123456789") == std::string_view::npos; }

}  // namespace

std::string FormatFixed(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kUnknown);
  std::string number = fmt::format("{:.{}f}", value, digits);
  if (number.front() == '-' && IsZero(number)) number.erase(0, 1);
  return GroupThousands(std::move(number));
}

std::string FormatSigned(double value, int digits) {
  if (!std::isfinite(value)) return std::string(kUnknown);
  const std::string number = FormatFixed(value, digits);
  return number.front() == '-' || IsZero(number) ? number : "+" + number;
}

std::string FormatShort(double value) {
  if (!std::isfinite(value) || value == 0) return FormatFixed(value, 0);
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  if (magnitude > 2) {
    // 1234 -> 1230: digits that are not reliable are not printed.
    const double unit = std::pow(10.0, magnitude - 2);
    return FormatFixed(std::round(value / unit) * unit, 0);
  }
  std::string number = FormatFixed(value, std::min(2 - magnitude, 4));
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

std::string FormatCount(uint64_t count) { return GroupThousands(fmt::format("{}", count)); }

std::string FormatCount(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(count), noun, count == 1 ? "" : "s");
}

std::string FormatPercent(double fraction) {
  return std::isfinite(fraction) ? FormatFixed(100 * fraction, 1) + " %" : std::string(kUnknown);
}

std::string FormatPoints(double difference) {
  return std::isfinite(difference) ? FormatSigned(100 * difference, 1) + " points" : std::string(kUnknown);
}

std::string FormatChange(double relative) {
  return std::isfinite(relative) ? FormatSigned(100 * relative, 1) + " %" : std::string(kUnknown);
}

std::string FormatDuration(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kUnknown);
  const double length = std::abs(seconds);
  if (length == 0) return "0 s";
  if (length < 1e-3) return FormatShort(seconds * 1e6) + " µs";
  if (length < 1) return FormatShort(seconds * 1e3) + " ms";
  if (length < 120) return FormatShort(seconds) + " s";
  if (length < 2 * 3600) return FormatShort(seconds / 60) + " min";
  if (length < 2 * 86400) return FormatShort(seconds / 3600) + " h";
  return FormatShort(seconds / 86400) + " days";
}

std::string FormatSlowdown(double slowdown, bool is_bound) {
  if (!std::isfinite(slowdown) || slowdown <= 0) return std::string(kUnknown);
  return is_bound ? fmt::format(">= {}x", FormatShort(slowdown)) : FormatFixed(slowdown, 2) + "x";
}

std::string FormatErrorBound(double relative_error) {
  if (!std::isfinite(relative_error)) return std::string(kUnknown);
  return relative_error <= 0 ? "exact" : fmt::format("{:.0e}", relative_error);
}

std::string FormatLinkSpeed(double bytes_per_second) {
  if (!std::isfinite(bytes_per_second)) return std::string(kUnknown);
  const double bits = bytes_per_second * 8;
  if (bits >= 1e9) return FormatShort(bits / 1e9) + " Gb/s";
  if (bits >= 1e6) return FormatShort(bits / 1e6) + " Mb/s";
  return FormatShort(bits / 1e3) + " kb/s";
}

}  // namespace fairlead::report
