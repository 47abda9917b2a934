#include "traffic/c4p/leaf_epochs.h"

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace fairlead::traffic::c4p {

uint64_t NextHopFingerprint(std::span<const LinkId> up_links, uint64_t hash_configuration) {
  std::vector<LinkId> links(up_links.begin(), up_links.end());
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  uint64_t hash = CombineHash(hash_configuration, links.size());
  for (const LinkId link : links) hash = CombineHash(hash, link.value());
  return hash;
}

const LeafEpoch& LeafEpochs::Advance(NodeId leaf, uint64_t fingerprint) {
  LeafEpoch& entry = leaves_[leaf];
  ++entry.epoch;
  entry.fingerprint = fingerprint;
  return entry;
}

LeafEpoch LeafEpochs::Find(NodeId leaf) const {
  const auto found = leaves_.find(leaf);
  return found == leaves_.end() ? LeafEpoch() : found->second;
}

}  // namespace fairlead::traffic::c4p
