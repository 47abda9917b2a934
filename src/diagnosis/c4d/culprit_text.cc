#include "diagnosis/c4d/culprit_text.h"

#include <fmt/format.h>

namespace fairlead::diagnosis::c4d {

namespace {

std::string NicText(const model::Culprit& culprit) {
  std::string text = culprit.nic.valid() ? fmt::format("NIC {}", culprit.nic.value()) : "the NIC";
  if (culprit.rank.valid()) text += fmt::format(" of rank {}", culprit.rank.value());
  if (culprit.host.valid()) text += fmt::format(" on host {}", culprit.host.value());
  return text;
}

}  // namespace

std::string CulpritText(const model::Culprit& culprit) {
  switch (culprit.kind) {
    case model::CulpritKind::kRank:
      return culprit.host.valid() ? fmt::format("rank {} on host {}", culprit.rank.value(), culprit.host.value())
                                  : fmt::format("rank {}", culprit.rank.value());
    case model::CulpritKind::kHost:
      return fmt::format("host {}", culprit.host.value());
    case model::CulpritKind::kNicSend:
      return "the transmit side of " + NicText(culprit);
    case model::CulpritKind::kNicReceive:
      return "the receive side of " + NicText(culprit);
    case model::CulpritKind::kNic:
      return NicText(culprit);
    case model::CulpritKind::kConnection:
      return fmt::format("the connection from rank {} to rank {}", culprit.rank.value(), culprit.peer.value());
    case model::CulpritKind::kLeaf:
      return fmt::format("leaf switch {}", culprit.leaf.value());
    case model::CulpritKind::kPlane:
      return fmt::format("plane {} of the network", culprit.plane.value_or(0));
  }
  return "unknown";
}

}  // namespace fairlead::diagnosis::c4d
