#include "base/shell_word.h"

#include <algorithm>

namespace fairlead {

std::string ShellWord(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("%+,-./:=@_^").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string_view("'\\''") : std::string_view(&c, 1);
  return word + "'";
}

}  // namespace fairlead
