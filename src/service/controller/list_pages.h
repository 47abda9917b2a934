// What long lists have in common that are given out by pages: GET /v1/NAME?limit=N&after=NEXT.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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
template <class Items, class IsWanted, class PlaceOf>
auto FirstOf(const Items& items, size_t count, const IsWanted& is_wanted, const PlaceOf& place_of) {
  std::vector<std::pair<decltype(place_of(items.front())), decltype(&items.front())>> found;
  for (const auto& item : items) {
    if (is_wanted(item)) found.emplace_back(place_of(item), &item);
  }
  const size_t kept = std::min(count, found.size());
  const auto middle = found.begin() + static_cast<ptrdiff_t>(kept);
  std::partial_sort(found.begin(), middle, found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  found.resize(kept);
  return found;
}

// Of all that are wanted, those behind `after`.
template <class Place, class Item>
struct ListPage {
  size_t total = 0;  // over all pages
  std::vector<std::pair<Place, const Item*>> items;
  std::optional<Place> next;  // of the last item; unset: there are no more
};

// Args: size: of the page at most, > 0; after: unset: the first page; is_wanted, place_of: as of FirstOf().
template <class Place, class Item, class IsWanted, class PlaceOf>
ListPage<Place, Item> PageOf(const std::vector<Item>& items, size_t size, const std::optional<Place>& after,
                             const IsWanted& is_wanted, const PlaceOf& place_of) {
  ListPage<Place, Item> page;
  const auto is_behind = [&](const Item& item) {
    if (!is_wanted(item)) return false;
    ++page.total;
    return !after || *after < place_of(item);
  };
  // One more than wanted says whether there is another page.
  page.items = FirstOf(items, size + 1, is_behind, place_of);
  if (page.items.size() > size) {
    page.items.pop_back();
    page.next = page.items.back().first;
  }
  return page;
}

}  // namespace fairlead::service
