// Bundles: several equal-cost paths that one flow takes at once.
//
// A bundle is written as one path: the links of its paths one after the other, a path as often as it has parts of the
// flow. All of them begin with the same link, from the GPU to its NIC, so that link appears once for each part. A link
// that appears in m of n parts carries m / n of the flow's rate; the parts move in lockstep. A plain path is a bundle
// of one part, and whatever counts links of paths counts them right once it divides by the number of parts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/path.h"

namespace fairlead::traffic {

// How many parts the flow is divided into; 1 for a plain path, and for none.
inline uint32_t NumParts(const model::Path& path) {
  return path.empty() ? 1 : static_cast<uint32_t>(std::count(path.begin(), path.end(), path.front()));
}

// The parts of a bundle, in order. Of no path: none.
inline std::vector<std::span<const LinkId>> PartsOf(const model::Path& bundle) {
  std::vector<std::span<const LinkId>> parts;
  for (size_t begin = 0; begin < bundle.size();) {
    size_t end = begin + 1;
    while (end < bundle.size() && bundle[end] != bundle.front()) ++end;
    parts.push_back(std::span(bundle).subspan(begin, end - begin));
    begin = end;
  }
  return parts;
}

}  // namespace fairlead::traffic
