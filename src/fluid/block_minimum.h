// The least of many integers of which a few hundred change between two questions.
//
// A tree of fan-out 64 whose inner nodes are repaired on demand: a change is O(1), a question costs one scan of 64
// numbers for every block whose minimum went up. An indexed heap would pay its logarithm and its cache misses on each
// change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fairlead::fluid {

class BlockMinimum {
 public:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // New values are kNever. Keeps the values that are there; `size` may only grow.
  void Resize(size_t size);
  size_t size() const { return tiers_.empty() ? 0 : tiers_[0].values.size(); }

  int64_t value(size_t index) const { return tiers_[0].values[index]; }
  void Set(size_t index, int64_t value);
  // The least value; kNever when empty.
  int64_t Min();
  // Appends the indices whose values are at most `limit` (< kNever), in ascending order.
  void CollectUpTo(int64_t limit, std::vector<uint32_t>* indices);

 private:
  static constexpr size_t kFanOut = 64;
  // tiers_[0] are the values themselves; tiers_[k].values[i] is the least of block i of tier k-1 unless i is stale.
  struct Tier {
    std::vector<int64_t> values;
    std::vector<uint8_t> stale;
    std::vector<uint32_t> stale_list;
  };

  void Lower(size_t tier, size_t block, int64_t value);
  void MarkStale(size_t tier, size_t block);
  int64_t BlockLeast(size_t tier, size_t block) const;
  void CollectBelow(size_t tier, size_t node, int64_t limit, std::vector<uint32_t>* indices) const;

  std::vector<Tier> tiers_;
};

}  // namespace fairlead::fluid
