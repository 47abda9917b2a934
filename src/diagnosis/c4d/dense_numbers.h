// Numbers things 0, 1, .. in the order in which they are first seen.
#pragma once

#include <cstdint>
#include <map>

namespace fairlead::diagnosis::c4d {

template <class Key>
class DenseNumbers {
 public:
  uint32_t Of(const Key& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size())).first->second;
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }

 private:
  std::map<Key, uint32_t> numbers_;
};

}  // namespace fairlead::diagnosis::c4d
