// What long lists have in common that are given out by pages: GET /v1/NAME?limit=N&after=NEXT.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace fairlead::service {

// What is wrong with a parameter.
Status ExpectedValue(std::string_view parameter, std::string_view found, std::string_view expected);

// Of `limit`. Errors: kInvalidArgument: none of 1 to 10,000.
Result<size_t> ReadPageSize(const std::string& text);
inline constexpr size_t kDefaultPageSize = 1000;

std::string LowerCase(std::string_view text);

// At most `count` of those that are wanted, in the order of their places, and where each stands. Args: is_wanted,
// place_of: of an item; places differ. Cost: O(items + count * log).
template <class Item, class IsWanted, class PlaceOf>
auto FirstOf(const std::vector<Item>& items, size_t count, const IsWanted& is_wanted, const PlaceOf& place_of) {
  std::vector<std::pair<decltype(place_of(items.front())), const Item*>> found;
  for (const Item& item : items) {
    if (is_wanted(item)) found.emplace_back(place_of(item), &item);
  }
  const size_t kept = std::min(count, found.size());
  const auto middle = found.begin() + static_cast<ptrdiff_t>(kept);
  std::partial_sort(found.begin(), middle, found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  found.resize(kept);
  return found;
}

}  // namespace fairlead::service
