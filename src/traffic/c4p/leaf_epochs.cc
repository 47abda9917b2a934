#include "traffic/c4p/leaf_epochs.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
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

namespace {

uint64_t KeyOf(HashDomain domain) { return uint64_t{domain.leaf.value()} << 32 | domain.towards.value(); }

}  // namespace

const LeafEpoch& LeafEpochs::Advance(HashDomain domain, uint64_t fingerprint) {
  LeafEpoch& entry = domains_[KeyOf(domain)];
  ++entry.epoch;
  entry.fingerprint = fingerprint;
  return entry;
}

void LeafEpochs::Set(HashDomain domain, uint64_t epoch, uint64_t fingerprint) {
  LeafEpoch& entry = domains_[KeyOf(domain)];
  FL_CHECK(epoch > entry.epoch);
  entry = {.epoch = epoch, .fingerprint = fingerprint};
}

LeafEpoch LeafEpochs::Find(HashDomain domain) const {
  const auto found = domains_.find(KeyOf(domain));
  return found == domains_.end() ? LeafEpoch() : found->second;
}

}  // namespace fairlead::traffic::c4p
