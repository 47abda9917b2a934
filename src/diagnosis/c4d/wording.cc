#include "diagnosis/c4d/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "model/culprits.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::JobLayout;
using model::OperationKind;
using model::PlaceNames;
using model::RankId;
using model::RecommendedAction;
using model::Syndrome;

// What is hardly more likely than not is watched.
constexpr double kWatchConfidenceMax = 0.5;
// Share of the iteration below which a host is not worth a restart.
constexpr double kIsolateCostMin = 0.1;
// The same for anything at all.
constexpr double kActCostMin = 0.03;

std::string NicText(const PlaceNames& names, const Culprit& culprit) {
  std::string text = culprit.nic.valid()    ? names.Of(culprit.nic)
                     : culprit.rank.valid() ? fmt::format("the NIC of rank {}", culprit.rank.value())
                                            : "a NIC";
  if (culprit.host.valid()) text += " of " + names.Of(culprit.host);
  return text;
}

template <class Items, class Text>
std::string ListOf(const Items& items, Text text) {
  constexpr size_t kMaxNamed = 3;
  std::string list;
  const size_t num_named = items.size() <= kMaxNamed + 1 ? items.size() : kMaxNamed;
  for (size_t i = 0; i < num_named; ++i) {
    if (i > 0) list += i + 1 == items.size() ? " and " : ", ";
    list += text(items[i]);
  }
  if (num_named < items.size()) list += fmt::format(" and {} more", items.size() - num_named);
  return list;
}

}  // namespace

std::string_view NameOf(OperationKind kind) {
  static constexpr std::array<std::string_view, model::kNumOperationKinds> kNames = {
      "all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
      "all_to_all", "send",       "receive",        "barrier",   "operation"};
  return kNames.at(static_cast<size_t>(kind));
}

std::string Describe(const JobLayout& layout, const PlaceNames& names, RankId rank) {
  const model::RankPlace& place = layout.ranks[rank.index()];
  return fmt::format("rank {} ({}, GPU {})", rank.value(), names.Of(place.host), place.gpu);
}

std::string Describe(const JobLayout& layout, const PlaceNames& names, const std::vector<RankId>& ranks) {
  return ListOf(ranks, [&](RankId rank) { return Describe(layout, names, rank); });
}

std::string Describe(const JobLayout& layout, const PlaceNames& names, const Culprit& culprit) {
  const std::string plane = culprit.plane ? fmt::format(" in plane {}", *culprit.plane) : "";
  switch (culprit.kind) {
    case CulpritKind::kRank:
      return Describe(layout, names, culprit.rank);
    case CulpritKind::kHost:
      return names.Of(culprit.host) + plane;
    case CulpritKind::kNicSend:
      return fmt::format("the send side of {}{}", NicText(names, culprit), plane);
    case CulpritKind::kNicReceive:
      return fmt::format("the receive side of {}{}", NicText(names, culprit), plane);
    case CulpritKind::kNic:
      return NicText(names, culprit) + plane;
    case CulpritKind::kConnection:
      return fmt::format("the connection from {} to {}{}", Describe(layout, names, culprit.rank),
                         Describe(layout, names, culprit.peer), plane);
    case CulpritKind::kLeaf:
      return names.Of(culprit.leaf);
    case CulpritKind::kPlane:
      return fmt::format("plane {} of the network", culprit.plane.value_or(0));
  }
  return "an unknown element";
}

std::string Describe(const JobLayout& layout, const PlaceNames& names, const std::vector<Culprit>& culprits) {
  return ListOf(culprits, [&](const Culprit& culprit) { return Describe(layout, names, culprit); });
}

std::string DescribeOperation(const JobLayout& layout, model::CommunicatorId communicator, OperationKind kind,
                              uint64_t sequence) {
  return fmt::format("{} {} on {}", NameOf(kind), sequence, layout.communicators[communicator.index()].name);
}

RecommendedAction RecommendAction(const Suspect& suspect, double confidence) {
  if (suspect.syndrome == Syndrome::kMismatch) return RecommendedAction::kReportSoftware;
  if (suspect.culprits.empty() || suspect.syndrome == Syndrome::kUnreachable) return RecommendedAction::kWatch;
  if (confidence <= kWatchConfidenceMax) return RecommendedAction::kWatch;
  // Of what has no known cost none is known to be worth it.
  const bool is_mild = suspect.cost < kIsolateCostMin;
  const bool is_negligible = suspect.cost >= 0 && suspect.cost < kActCostMin;
  // Without a known cause it may be its work, such as that of the expert that most tokens go to, and stay with the rank.
  const bool is_unexplained = suspect.sub_cause == model::SubCause::kUnknown;
  if (suspect.syndrome == Syndrome::kNonCommSlow && (is_mild || is_unexplained)) return RecommendedAction::kWatch;
  if (suspect.syndrome == Syndrome::kCommSlow && is_negligible) return RecommendedAction::kWatch;
  if (suspect.syndrome == Syndrome::kCommSlow && is_mild) return RecommendedAction::kRepairPath;
  const bool is_process = suspect.sub_cause == model::SubCause::kProcess;
  if (is_process && suspect.syndrome == Syndrome::kNonCommHang) return RecommendedAction::kWatch;
  if (is_process && suspect.syndrome == Syndrome::kDead) return RecommendedAction::kRestart;
  const bool is_path = std::all_of(suspect.culprits.begin(), suspect.culprits.end(), [](const Culprit& c) {
    return c.kind == CulpritKind::kConnection || c.kind == CulpritKind::kLeaf || c.kind == CulpritKind::kPlane;
  });
  return is_path ? RecommendedAction::kRepairPath : RecommendedAction::kIsolateAndRestart;
}

std::vector<Culprit> RankCulprits(const JobLayout& layout, const std::vector<RankId>& ranks) {
  std::map<HostId, size_t> num_on_host;
  for (const model::RankPlace& place : layout.ranks) ++num_on_host[place.host];
  std::map<HostId, std::vector<RankId>> by_host;
  for (const RankId rank : ranks) by_host[layout.ranks[rank.index()].host].push_back(rank);
  std::vector<Culprit> culprits;
  for (const auto& [host, named] : by_host) {
    if (named.size() > 1 && named.size() == num_on_host[host]) {
      culprits.push_back(model::HostCulprit(host));
    } else {
      for (const RankId rank : named) culprits.push_back(model::RankCulprit(layout, rank));
    }
  }
  std::sort(culprits.begin(), culprits.end());
  return culprits;
}

}  // namespace fairlead::diagnosis::c4d
