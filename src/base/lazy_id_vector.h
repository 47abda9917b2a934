// Numbers for many ids of which few are ever written: all zero at first, and made in a time that does not depend on how
// many there are.
//
// Method  the system gives memory of zeros page by page, when it is written first. A plan for one job in 100,000 GPUs
//         touches a few hundred of 750,000 links.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace fairlead {

// T: a number, or a struct of numbers, for which zero bytes are T().
template <class IdType, class T>
class LazyIdVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  LazyIdVector() = default;
  explicit LazyIdVector(size_t size) : size_(size) {
    if (size * sizeof(T) < kFewBytes) {
      small_.assign(size, T());
      items_ = small_.data();
      return;
    }
    void* const pages = mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    items_ = static_cast<T*>(pages);
  }
  LazyIdVector(LazyIdVector&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        items_(std::exchange(other.items_, nullptr)),
        small_(std::move(other.small_)) {}
  LazyIdVector& operator=(LazyIdVector&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(items_, other.items_);
    std::swap(small_, other.small_);
    return *this;
  }
  ~LazyIdVector() {
    if (items_ != nullptr && small_.empty() && size_ > 0) munmap(items_, size_ * sizeof(T));
  }

  T& operator[](IdType id) { return items_[id.index()]; }
  const T& operator[](IdType id) const { return items_[id.index()]; }
  size_t size() const { return size_; }

 private:
  // Below, a page fault costs more than zeros.
  static constexpr size_t kFewBytes = size_t{64} * 1024;

  size_t size_ = 0;
  T* items_ = nullptr;    // those of `small_`, or pages of its own
  std::vector<T> small_;  // a move keeps its address
};

}  // namespace fairlead
