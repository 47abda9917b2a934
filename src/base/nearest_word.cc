#include "base/nearest_word.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace fairlead {

namespace {

// Inserted, left out, changed and swapped letters (optimal string alignment).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> distance(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        distance[i][j] = i + j;
        continue;
      }
      const size_t changed = distance[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      distance[i][j] = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1, changed});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) distance[i][j] = std::min(distance[i][j], distance[i - 2][j - 2] + 1);
    }
  }
  return distance[a.size()][b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string> candidates) {
  std::string nearest;
  size_t least = std::string::npos;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    const size_t allowed = std::max<size_t>(1, std::max(word.size(), candidate.size()) / 3);
    if (distance > allowed || distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = NearestWord(word, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string UnknownName(std::string_view what, std::string_view name, std::span<const std::string> known) {
  const std::string nearest = NearestWord(name, known);
  return fmt::format("unknown {} '{}'{}; known: {}", what, name,
                     nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest), fmt::join(known, ", "));
}

std::string UnknownName(std::string_view what, std::string_view name, std::span<const std::string_view> known) {
  return UnknownName(what, name, std::vector<std::string>(known.begin(), known.end()));
}

}  // namespace fairlead
