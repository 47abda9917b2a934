// Bundles: several equal-cost paths that one flow takes at once.
//
// A bundle is written as one path: the links of its paths one after the other, a path as often as it has parts of the
// flow. All of them begin with the same link, from the GPU to its NIC, so that link appears once for each part. A link
// that appears in m of n parts carries m / n of the flow's rate; the parts move in lockstep. A plain path is a bundle
// of one part, and whatever counts links of paths counts them right once it divides by the number of parts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/path.h"

namespace fairlead::traffic {

// How many parts the flow is divided into; 1 for a plain path, and for none.
inline uint32_t NumParts(const model::Path& path) {
  return path.empty() ? 1 : static_cast<uint32_t>(std::count(path.begin(), path.end(), path.front()));
}

}  // namespace fairlead::traffic
