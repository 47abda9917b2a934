// Bundles: several equal-cost paths that one flow takes at once.
//
// A bundle is written as one path: the links of its paths one after the other, a path as often as it has parts of the
// flow. All of them begin with the same link, from the GPU to its NIC, and end with the same one, from the other NIC to
// its GPU. A link that appears m times in a bundle of n parts carries m / n of the flow's rate; the parts move in
// lockstep. A plain path is a bundle of one part, and whatever counts links of paths counts them right once it divides
// by the number of parts.
//
// Where nobody has noticed yet that a link is dead, parts break off before it: what they carry is lost there and sent
// again over all parts. Only parts that arrive count, so that the links that the others still reach carry more than the
// flow's rate: with k of S parts broken off, the link to the NIC S / (S - k) of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "model/path.h"

namespace fairlead::traffic {

// How many parts of the flow arrive; 1 for a plain path, and for none.
inline uint32_t NumParts(const model::Path& path) {
  return path.empty() ? 1 : static_cast<uint32_t>(std::count(path.begin(), path.end(), path.back()));
}

// How many parts the flow is divided into, those that break off included; 1 for a plain path, and for none.
inline uint32_t NumPartsSent(const model::Path& path) {
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

// The bundle with those parts broken off that cross one of the links `is_dead(LinkId)`: each ends before its first dead
// link, and stands before those that arrive. Where all parts are dead, or none is, it is the same: there is nothing
// left that the others could be sent again over.
// Args: bundle: without parts that are broken off.
template <typename IsDead>
model::Path BreakOff(const model::Path& bundle, IsDead is_dead) {
  if (std::none_of(bundle.begin(), bundle.end(), is_dead)) return bundle;
  model::Path broken;
  model::Path arriving;
  for (const std::span<const LinkId> part : PartsOf(bundle)) {
    const auto dead = std::find_if(part.begin(), part.end(), is_dead);
    model::Path& mine = dead == part.end() ? arriving : broken;
    mine.insert(mine.end(), part.begin(), dead);
  }
  if (arriving.empty()) return bundle;
  broken.insert(broken.end(), arriving.begin(), arriving.end());
  return broken;
}

}  // namespace fairlead::traffic
