#include "diagnosis/c4d/transfer_path.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {

bool IsPassedBy(const model::JobLayout& layout, const Transfer& transfer, const model::Culprit& culprit) {
  const auto is_at = [&](model::RankId end) {
    const model::RankPlace& place = layout.ranks[end.index()];
    switch (culprit.kind) {
      case model::CulpritKind::kNicSend:
      case model::CulpritKind::kNicReceive:
      case model::CulpritKind::kNic:
        return culprit.nic.valid() ? place.nic == culprit.nic : end == culprit.rank;
      case model::CulpritKind::kHost:
        return place.host == culprit.host;
      case model::CulpritKind::kLeaf:
        return transfer.plane < place.leaves.size() && place.leaves[transfer.plane] == culprit.leaf;
      case model::CulpritKind::kPlane:
        return transfer.plane == culprit.plane;
      default:
        return end == culprit.rank || end == culprit.peer;
    }
  };
  const bool is_connection = culprit.kind == model::CulpritKind::kConnection;
  return is_connection ? is_at(transfer.source) && is_at(transfer.destination)
                       : is_at(transfer.source) || is_at(transfer.destination);
}

bool IsPassedByOneOf(const model::JobLayout& layout, const Transfer& transfer,
                     std::span<const model::Culprit> culprits) {
  return std::ranges::any_of(culprits,
                             [&](const model::Culprit& culprit) { return IsPassedBy(layout, transfer, culprit); });
}

bool IsAccusedBy(const model::JobLayout& layout, const Transfer& transfer, const model::Culprit& culprit) {
  if (!IsPassedBy(layout, transfer, culprit)) return false;
  const auto is_at = [&](model::RankId end) {
    return culprit.nic.valid() ? layout.ranks[end.index()].nic == culprit.nic : end == culprit.rank;
  };
  if (culprit.kind == model::CulpritKind::kNicSend) return is_at(transfer.source);
  if (culprit.kind == model::CulpritKind::kNicReceive) return is_at(transfer.destination);
  if (culprit.kind == model::CulpritKind::kConnection) return transfer.source == culprit.rank;
  return true;
}

}  // namespace fairlead::diagnosis::c4d
