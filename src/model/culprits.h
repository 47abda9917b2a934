// Culprits by what they are, with the ids that follow from it filled in.
#pragma once

#include <algorithm>
#include <vector>

#include "model/finding.h"
#include "model/telemetry.h"

namespace fairlead::model {

inline Culprit HostCulprit(HostId host) {
  Culprit culprit;
  culprit.kind = CulpritKind::kHost;
  culprit.host = host;
  return culprit;
}

// Args: rank: of the layout.
inline Culprit RankCulprit(const JobLayout& layout, RankId rank) {
  Culprit culprit;
  culprit.kind = CulpritKind::kRank;
  culprit.rank = rank;
  culprit.host = layout.ranks[rank.index()].host;
  return culprit;
}

// Whether both may mean the same thing: the same rank, or something of one host.
inline bool Overlap(const std::vector<Culprit>& a, const std::vector<Culprit>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Culprit& x) {
    return std::any_of(b.begin(), b.end(), [&](const Culprit& y) {
      return (x.rank.valid() && x.rank == y.rank) || (x.host.valid() && x.host == y.host);
    });
  });
}

}  // namespace fairlead::model
