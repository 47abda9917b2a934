// Leaf epochs: whether what was learnt of a leaf's hash still holds.
//
// A lost link moves flows of healthy links too, as the leaf hashes over fewer next hops; so after any change all that
// was learnt is void. When the next hops are again what they once were, so is the hash: the fingerprint tells.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "base/ids.h"

namespace fairlead::traffic::c4p {

// Hash of the set of links over which a leaf may send, and of how it hashes (seed, fields). The order and repetitions
// of the links are no matter.
uint64_t NextHopFingerprint(std::span<const LinkId> up_links, uint64_t hash_configuration);

// Changes of a leaf so far, and the fingerprint since the last one.
struct LeafEpoch {
  uint64_t epoch = 0;
  uint64_t fingerprint = 0;

  friend bool operator==(const LeafEpoch&, const LeafEpoch&) = default;
};

class LeafEpochs {
 public:
  // Any change of a leaf's next hops or hash. Cost: O(log leaves).
  const LeafEpoch& Advance(NodeId leaf, uint64_t fingerprint);
  // All 0 before the first change.
  LeafEpoch Find(NodeId leaf) const;

 private:
  std::map<NodeId, LeafEpoch> leaves_;
};

}  // namespace fairlead::traffic::c4p
