// A text by lines.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace fairlead::cli {

// Without their line breaks; a break at the end begins no further line.
inline std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace fairlead::cli
