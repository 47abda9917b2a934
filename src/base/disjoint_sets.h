// Disjoint sets of 0 .. size-1 that can be joined (union-find with path halving). The smallest member names the set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace fairlead {

class DisjointSets {
 public:
  explicit DisjointSets(size_t size) : parents_(size) { std::iota(parents_.begin(), parents_.end(), 0u); }

  // The smallest member of x's set.
  uint32_t Find(uint32_t x) {
    while (parents_[x] != x) x = parents_[x] = parents_[parents_[x]];
    return x;
  }
  // Returns whether they were two sets.
  bool Join(uint32_t a, uint32_t b) {
    a = Find(a);
    b = Find(b);
    parents_[std::max(a, b)] = std::min(a, b);
    return a != b;
  }

 private:
  std::vector<uint32_t> parents_;
};

}  // namespace fairlead
