// Many paths kept for long: one after the other in one piece of memory, instead of a vector each.
//
// A path of ten links takes 44 bytes instead of some 90, and a pass over all of them reads memory in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/path.h"

namespace fairlead::traffic {

class PackedPaths {
 public:
  void Clear() {
    links_.clear();
    ends_.clear();
  }
  void Assign(std::span<const model::Path> paths) {
    Clear();
    ends_.reserve(paths.size());
    for (const model::Path& path : paths) {
      links_.insert(links_.end(), path.begin(), path.end());
      ends_.push_back(static_cast<uint32_t>(links_.size()));
    }
  }
  std::vector<model::Path> Unpack() const {
    std::vector<model::Path> paths(size());
    for (size_t i = 0; i < size(); ++i) paths[i].assign((*this)[i].begin(), (*this)[i].end());
    return paths;
  }

  size_t size() const { return ends_.size(); }
  std::span<const LinkId> operator[](size_t i) const {
    const size_t first = i == 0 ? 0 : ends_[i - 1];
    return {links_.data() + first, ends_[i] - first};
  }

  bool Equals(std::span<const model::Path> paths) const {
    if (paths.size() != size()) return false;
    for (size_t i = 0; i < size(); ++i) {
      if (!std::ranges::equal((*this)[i], paths[i])) return false;
    }
    return true;
  }

 private:
  std::vector<LinkId> links_;
  std::vector<uint32_t> ends_;  // [path] into links_
};

}  // namespace fairlead::traffic
