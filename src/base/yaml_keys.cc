#include "base/yaml_keys.h"

#include <algorithm>

namespace fairlead {

std::vector<std::string_view> SplitAtSpaces(std::string_view words) {
  std::vector<std::string_view> parts;
  while (!words.empty()) {
    const size_t end = std::min(words.find(' '), words.size());
    if (end > 0) parts.push_back(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return parts;
}

const YamlKey* FindYamlKey(const YamlMapKeys& map, std::string_view key, std::string_view kind) {
  for (const YamlKey& declared : map.keys) {
    if (declared.name != key) continue;
    if (declared.kinds.empty() || std::ranges::count(SplitAtSpaces(declared.kinds), kind) > 0) return &declared;
  }
  return nullptr;
}

}  // namespace fairlead
