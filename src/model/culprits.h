// Culprits by what they are, with the ids that follow from it filled in.
#pragma once

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

}  // namespace fairlead::model
