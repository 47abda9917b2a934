// Leaf epochs: whether what was learnt of a leaf's hash still holds.
//
// A lost link moves flows of healthy links too, as the leaf hashes over fewer next hops; so after any change all that
// was learnt is void. When the next hops are again what they once were, so is the hash: the fingerprint tells.
//
// A leaf may have other next hops to each destination. A caller that knows the destinations of a change counts epochs
// for each of them; one that does not counts one for all.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/ids.h"

namespace fairlead::traffic::c4p {

// Hash of the set of links over which a leaf may send, and of how it hashes (seed, fields). The order and repetitions
// of the links are no matter.
uint64_t NextHopFingerprint(std::span<const LinkId> up_links, uint64_t hash_configuration);

// What one epoch counts the changes of: the hash of a leaf towards one destination leaf, or towards all of them alike.
struct HashDomain {
  NodeId leaf;
  NodeId towards;  // invalid: all

  constexpr HashDomain(NodeId of, NodeId to = NodeId()) : leaf(of), towards(to) {}  // NOLINT(runtime/explicit)
};

// Changes of a domain so far, and the fingerprint since the last one.
struct LeafEpoch {
  uint64_t epoch = 0;
  uint64_t fingerprint = 0;

  friend bool operator==(const LeafEpoch&, const LeafEpoch&) = default;
};

class LeafEpochs {
 public:
  // Any change of the domain's next hops or hash. Cost: O(1).
  const LeafEpoch& Advance(HashDomain domain, uint64_t fingerprint);
  // The same, for a caller that counts on its own. Args: epoch > that of Find(domain).
  void Set(HashDomain domain, uint64_t epoch, uint64_t fingerprint);
  // All 0 before the first change.
  LeafEpoch Find(HashDomain domain) const;

 private:
  std::unordered_map<uint64_t, LeafEpoch> domains_;
};

}  // namespace fairlead::traffic::c4p
