#include "topology/import/foreign_network.h"

#include <fmt/format.h>

#include <algorithm>

namespace fairlead::topology {

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits at the front, without leading zeros; `text` continues after them.
std::string_view TakeNumber(std::string_view* text) {
  size_t length = 0;
  while (length < text->size() && IsDigit((*text)[length])) ++length;
  std::string_view digits = text->substr(0, length);
  text->remove_prefix(length);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view number_a = TakeNumber(&a);
      const std::string_view number_b = TakeNumber(&b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // "01" and "1"
}

std::string UsableDeviceName(std::string_view name) {
  std::string usable;
  for (const char c : name) {
    const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '.' || c == '_';
    if (is_kept) {
      usable += c;
    } else if (!usable.empty() && usable.back() != '-') {
      usable += '-';
    }
  }
  while (!usable.empty() && usable.back() == '-') usable.pop_back();
  return usable.empty() ? "unnamed" : usable;
}

std::string ListNames(const std::vector<std::string>& names, size_t shown) {
  // Each further name takes no more room than its tokens.
  const size_t num_listed = names.size() <= shown + 1 ? names.size() : shown;
  std::string list;
  for (size_t i = 0; i < num_listed; ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == names.size() ? " and " : ", ", names[i]);
  }
  if (num_listed < names.size()) list += fmt::format(" and {} others", names.size() - num_listed);
  return list;
}

}  // namespace fairlead::topology
