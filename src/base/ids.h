// Strong ids: dense indices that can't be mixed up, and vectors that can be indexed only by their own id.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace fairlead {

// A 32-bit index into one kind of thing. A default-constructed id is invalid.
template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(uint32_t value) : value_(value) {}
  // For loop counters; the count of things must fit 32 bits.
  constexpr explicit Id(size_t value) : value_(static_cast<uint32_t>(value)) {}
  constexpr explicit Id(int value) : value_(static_cast<uint32_t>(value)) {}

  constexpr uint32_t value() const { return value_; }
  constexpr size_t index() const { return value_; }
  constexpr bool valid() const { return value_ != kInvalid; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  static constexpr uint32_t kInvalid = std::numeric_limits<uint32_t>::max();
  uint32_t value_ = kInvalid;
};

using JobId = Id<struct JobIdTag>;
using HostId = Id<struct HostIdTag>;
using GpuId = Id<struct GpuIdTag>;
using NicId = Id<struct NicIdTag>;
// Any vertex of the fabric graph: GPU, NIC, switch, …
using NodeId = Id<struct NodeIdTag>;
// A directed edge of the fabric graph.
using LinkId = Id<struct LinkIdTag>;

// std::vector<T> indexed by one id type.
template <class IdType, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(size_t size, const T& value = T()) : items_(size, value) {}

  T& operator[](IdType id) { return items_[id.index()]; }
  const T& operator[](IdType id) const { return items_[id.index()]; }
  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void resize(size_t size, const T& value = T()) { items_.resize(size, value); }
  void assign(size_t size, const T& value) { items_.assign(size, value); }
  IdType push_back(T value) {
    items_.push_back(std::move(value));
    return IdType(items_.size() - 1);
  }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  std::vector<T>& raw() { return items_; }
  const std::vector<T>& raw() const { return items_; }

  friend bool operator==(const IdVector&, const IdVector&) = default;

 private:
  std::vector<T> items_;
};

}  // namespace fairlead

template <class Tag>
struct std::hash<fairlead::Id<Tag>> {
  size_t operator()(fairlead::Id<Tag> id) const noexcept { return std::hash<uint32_t>()(id.value()); }
};
