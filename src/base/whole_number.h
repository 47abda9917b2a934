// A text that is a number and nothing else: "12" is one, "12 ", "+12", "0x0c" and "" are none.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace fairlead {

// Nothing: it is none, or out of the range of Number. Floating-point numbers may be "inf" or "nan". The decimal point
// is a dot whatever the locale.
template <class Number>
std::optional<Number> ParseWhole(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

// The same as a condition; `number` is as it was where it is false.
template <class Number>
bool ParseWhole(std::string_view text, Number* number) {
  const std::optional<Number> parsed = ParseWhole<Number>(text);
  if (parsed) *number = *parsed;
  return parsed.has_value();
}

}  // namespace fairlead
