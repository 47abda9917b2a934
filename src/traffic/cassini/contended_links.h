// Contended links: those that cannot carry the bursts of all their jobs at once. They are the links of the affinity
// graph; on all others nobody waits, whatever the shifts.
//
// Cost  O(uses * log uses), uses: pairs of a job and a link of its paths.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "traffic/link_traffic.h"

namespace fairlead::traffic::cassini {

// What one job asks of a link while it communicates, as a fraction of the link.
struct LinkDemand {
  uint32_t job = 0;  // an index of the caller's
  double demand = 0;

  friend auto operator<=>(const LinkDemand&, const LinkDemand&) = default;
};

struct LinkUse {
  LinkId link;
  LinkDemand by;

  friend auto operator<=>(const LinkUse&, const LinkUse&) = default;
};

struct ContendedLink {
  LinkId link;
  std::vector<LinkDemand> users;  // by job
};

// What `job` asks of each of its links. Args: traffic of a job that communicates.
void AppendLinkUses(uint32_t job, const JobTraffic& traffic, const LinkTable& links, std::vector<LinkUse>* uses);

// Whether bursts of these users exceed the link when they meet.
bool IsContended(const std::vector<LinkDemand>& users);

// By link.
std::vector<ContendedLink> FindContendedLinks(std::vector<LinkUse> uses);

}  // namespace fairlead::traffic::cassini
