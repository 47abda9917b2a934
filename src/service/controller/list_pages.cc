#include "service/controller/list_pages.h"

#include <fmt/format.h>

#include <cctype>

#include "base/whole_number.h"

namespace fairlead::service {

namespace {

constexpr size_t kPageSizeMax = 10'000;

}  // namespace

Status ExpectedValue(std::string_view parameter, std::string_view found, std::string_view expected) {
  return InvalidArgument(fmt::format("{}: expected {}, found '{}'", parameter, expected, found));
}

Result<size_t> ReadPageSize(const std::string& text) {
  size_t size = 0;
  if (ParseWhole(text, &size) && size >= 1 && size <= kPageSizeMax) return size;
  return ExpectedValue("limit", text, fmt::format("a number of 1 to {}", kPageSizeMax));
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return lower;
}

}  // namespace fairlead::service
