// Bytes of strangers for a message or a log: no line break, no escape sequence of a terminal, nothing beyond ASCII.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace fairlead {

constexpr bool IsPrintableAscii(char c) { return c >= ' ' && c <= '~'; }

// `instead` stands for each byte that can't be printed. The result is as long as `text`.
inline std::string PrintableAscii(std::string_view text, char instead = '?') {
  std::string printable(text);
  std::ranges::replace_if(
      printable, [](char c) { return !IsPrintableAscii(c); }, instead);
  return printable;
}

}  // namespace fairlead
