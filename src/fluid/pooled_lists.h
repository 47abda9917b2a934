// Many short growing lists in one array: what std::vector per list would cost 24 bytes and a malloc each for.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"

namespace fairlead::fluid {

// `T` is trivially copyable. A list that outgrows its block moves to one of twice the size; blocks are used again, so
// in a steady state nothing is allocated. Pointers into a list hold until the next Push on any list.
template <class T>
class PooledLists {
 public:
  explicit PooledLists(size_t num_lists = 0) : heads_(num_lists) {}

  void Resize(size_t num_lists) { heads_.resize(num_lists); }
  size_t num_lists() const { return heads_.size(); }

  uint32_t size(uint32_t list) const { return heads_[list].size; }
  bool empty(uint32_t list) const { return heads_[list].size == 0; }
  T* data(uint32_t list) { return pool_.data() + heads_[list].begin; }
  const T* data(uint32_t list) const { return pool_.data() + heads_[list].begin; }

  void Push(uint32_t list, T value) {
    Head& head = heads_[list];
    if (head.size == head.capacity) Grow(head);
    pool_[head.begin + head.size++] = value;
  }
  void Pop(uint32_t list) {
    FL_DCHECK(heads_[list].size > 0);
    --heads_[list].size;
  }

 private:
  struct Head {
    uint32_t begin = 0;
    uint32_t size = 0;
    uint32_t capacity = 0;  // 0 or a power of two
  };

  void Grow(Head& head) {
    const uint32_t capacity = head.capacity == 0 ? 1 : head.capacity * 2;
    std::vector<uint32_t>& free = free_blocks_[std::countr_zero(capacity)];
    uint32_t begin;
    if (free.empty()) {
      begin = static_cast<uint32_t>(pool_.size());
      pool_.resize(pool_.size() + capacity);
      FL_CHECK(pool_.size() < UINT32_MAX);
    } else {
      begin = free.back();
      free.pop_back();
    }
    for (uint32_t i = 0; i < head.size; ++i) pool_[begin + i] = pool_[head.begin + i];
    if (head.capacity > 0) free_blocks_[std::countr_zero(head.capacity)].push_back(head.begin);
    head.begin = begin;
    head.capacity = capacity;
  }

  std::vector<Head> heads_;
  std::vector<T> pool_;
  std::array<std::vector<uint32_t>, 32> free_blocks_;  // [log2 of the block's size]
};

}  // namespace fairlead::fluid
