#include "report/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/number_format.h"

namespace fairlead::report {

using model::CulpritKind;

std::string CulpritText(const model::Culprit& culprit, const CulpritNames& names) {
  const std::string on_host = culprit.host.valid() ? " on " + names.host(culprit.host) : "";
  switch (culprit.kind) {
    case CulpritKind::kRank:
      return fmt::format("rank {}{}", culprit.rank.value(), on_host);
    case CulpritKind::kHost:
      return names.host(culprit.host);
    case CulpritKind::kNicSend:
    case CulpritKind::kNicReceive:
    case CulpritKind::kNic:
      if (!culprit.nic.valid()) return fmt::format("{}{}", model::Name(culprit.kind), on_host);
      return fmt::format("{} {}{}", model::Name(culprit.kind), names.nic(culprit.nic), on_host);
    case CulpritKind::kConnection:
      return fmt::format("connection from rank {} to rank {}", culprit.rank.value(), culprit.peer.value());
    case CulpritKind::kLeaf:
      return fmt::format("leaf {}", names.leaf(culprit.leaf));
    case CulpritKind::kPlane:
      return fmt::format("plane {}", culprit.plane.value_or(0));
  }
  return "";
}

namespace {

// "pairs of ranks" of one -> "pair of ranks"; abbreviations stay.
std::string UnitOf(double value, std::string unit) {
  const size_t word = std::min(unit.find(' '), unit.size());
  if (value == 1 && word > 2 && unit[word - 1] == 's') unit.erase(word - 1, 1);
  return unit;
}

}  // namespace

std::string EvidenceText(const model::Evidence& evidence) {
  std::string text = fmt::format("{}: {:.3g}", evidence.what, evidence.value);
  if (!evidence.unit.empty()) text += " " + UnitOf(evidence.value, evidence.unit);
  if (evidence.baseline != 0) text += fmt::format(" (normal: {:.3g})", evidence.baseline);
  return text;
}

std::string CostText(const model::Finding& finding) {
  if (!finding.cost_share) return "";
  std::string text = fmt::format("costs {:.0f} % of the job", 100 * *finding.cost_share);
  if (finding.cost_gpu_hours)
    text +=
        fmt::format(", {} GPU-hours a day", FormatCount(static_cast<uint64_t>(std::llround(*finding.cost_gpu_hours))));
  return text;
}

}  // namespace fairlead::report
