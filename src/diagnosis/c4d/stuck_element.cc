#include "diagnosis/c4d/stuck_element.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/disjoint_sets.h"

namespace fairlead::diagnosis::c4d {
namespace {

using model::Culprit;
using model::CulpritKind;
using model::JobLayout;
using model::RankId;
using model::RankPlace;

const RankPlace& PlaceOf(const JobLayout& layout, RankId rank) { return layout.ranks[rank.index()]; }

// Ranks with an unknown NIC count as having their own.
bool ShareNic(const JobLayout& layout, RankId a, RankId b) {
  if (a == b) return true;
  const NicId nic = PlaceOf(layout, a).nic;
  return nic.valid() && nic == PlaceOf(layout, b).nic;
}

std::optional<model::LeafId> LeafOf(const JobLayout& layout, RankId rank, uint8_t plane) {
  const auto& leaves = PlaceOf(layout, rank).leaves;
  if (plane >= leaves.size()) return std::nullopt;
  return leaves[plane];
}

template <class Predicate>
bool All(const std::vector<StuckLink>& links, Predicate predicate) {
  return std::all_of(links.begin(), links.end(), predicate);
}

// The plane, where all links use one and the ranks have more.
std::optional<uint32_t> CommonPlane(const JobLayout& layout, const std::vector<StuckLink>& links) {
  const uint8_t plane = links.front().plane;
  const bool is_common = All(links, [&](const StuckLink& l) { return l.plane == plane; });
  if (!is_common || PlaceOf(layout, links.front().from).leaves.size() < 2) return std::nullopt;
  return plane;
}

// With what follows from the rank at this end.
Culprit CulpritAt(const JobLayout& layout, CulpritKind kind, RankId rank) {
  Culprit culprit;
  culprit.kind = kind;
  culprit.rank = rank;
  culprit.host = PlaceOf(layout, rank).host;
  culprit.nic = PlaceOf(layout, rank).nic;
  return culprit;
}

std::set<std::pair<RankId, RankId>> PairsOf(const std::vector<StuckLink>& links) {
  std::set<std::pair<RankId, RankId>> pairs;
  for (const StuckLink& link : links) pairs.emplace(link.from, link.to);
  return pairs;
}

std::optional<Culprit> FindNic(const JobLayout& layout, const std::vector<StuckLink>& links) {
  const StuckLink& first = links.front();
  if (All(links, [&](const StuckLink& l) { return ShareNic(layout, l.from, first.from); })) {
    return CulpritAt(layout, CulpritKind::kNicSend, first.from);
  }
  if (All(links, [&](const StuckLink& l) { return ShareNic(layout, l.to, first.to); })) {
    return CulpritAt(layout, CulpritKind::kNicReceive, first.to);
  }
  std::vector<RankId> candidates;
  for (const RankId end : {first.from, first.to}) {
    if (All(links, [&](const StuckLink& l) { return ShareNic(layout, l.from, end) || ShareNic(layout, l.to, end); })) {
      candidates.push_back(end);
    }
  }
  // Both ends of a pair that can't talk in either direction are equally suspect.
  if (candidates.size() != 1) return std::nullopt;
  return CulpritAt(layout, CulpritKind::kNic, candidates.front());
}

std::optional<Culprit> FindHost(const JobLayout& layout, const std::vector<StuckLink>& links) {
  std::vector<HostId> candidates;
  for (const RankId end : {links.front().from, links.front().to}) {
    const HostId host = PlaceOf(layout, end).host;
    if (All(links, [&](const StuckLink& l) {
          return PlaceOf(layout, l.from).host == host || PlaceOf(layout, l.to).host == host;
        })) {
      candidates.push_back(host);
    }
  }
  if (candidates.size() != 1) return std::nullopt;
  Culprit culprit;
  culprit.kind = CulpritKind::kHost;
  culprit.host = candidates.front();
  return culprit;
}

std::optional<Culprit> FindLeaf(const JobLayout& layout, const std::vector<StuckLink>& links) {
  std::set<model::LeafId> candidates;
  for (const RankId end : {links.front().from, links.front().to}) {
    const auto leaf = LeafOf(layout, end, links.front().plane);
    if (leaf && All(links, [&](const StuckLink& l) {
          return LeafOf(layout, l.from, l.plane) == leaf || LeafOf(layout, l.to, l.plane) == leaf;
        })) {
      candidates.insert(*leaf);
    }
  }
  if (candidates.size() != 1) return std::nullopt;
  Culprit culprit;
  culprit.kind = CulpritKind::kLeaf;
  culprit.leaf = *candidates.begin();
  return culprit;
}

std::vector<std::vector<StuckLink>> SplitByNic(const JobLayout& layout, const std::vector<StuckLink>& links) {
  DisjointSets sets(links.size());
  for (uint32_t i = 0; i < links.size(); ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      const StuckLink& a = links[i];
      const StuckLink& b = links[j];
      if (ShareNic(layout, a.from, b.from) || ShareNic(layout, a.from, b.to) || ShareNic(layout, a.to, b.from) ||
          ShareNic(layout, a.to, b.to)) {
        sets.Join(i, j);
      }
    }
  }
  std::map<uint32_t, std::vector<StuckLink>> groups;
  for (uint32_t i = 0; i < links.size(); ++i) groups[sets.Find(i)].push_back(links[i]);
  std::vector<std::vector<StuckLink>> result;
  result.reserve(groups.size());
  for (auto& [name, group] : groups) result.push_back(std::move(group));
  return result;
}

// Hosts, leaves and planes need more NICs as witnesses than the two ends of one pair of ranks.
constexpr size_t kMinNicsOfMore = 3;

size_t NumNics(const JobLayout& layout, const std::vector<StuckLink>& links) {
  std::vector<RankId> distinct;
  for (const StuckLink& link : links) {
    for (const RankId end : {link.from, link.to}) {
      if (std::none_of(distinct.begin(), distinct.end(), [&](RankId r) { return ShareNic(layout, r, end); })) {
        distinct.push_back(end);
      }
    }
  }
  return distinct.size();
}

std::optional<Culprit> FindCommon(const JobLayout& layout, const std::vector<StuckLink>& links) {
  std::optional<Culprit> culprit = FindNic(layout, links);
  if (!culprit && NumNics(layout, links) < kMinNicsOfMore) return std::nullopt;
  if (!culprit) culprit = FindHost(layout, links);
  if (!culprit) culprit = FindLeaf(layout, links);
  const std::optional<uint32_t> plane = CommonPlane(layout, links);
  // Three pairs that have nothing but the plane in common; two may be a coincidence.
  constexpr size_t kMinPairsOfPlane = 3;
  if (!culprit && plane && PairsOf(links).size() >= kMinPairsOfPlane) {
    culprit.emplace().kind = CulpritKind::kPlane;
  }
  if (culprit) culprit->plane = plane;
  return culprit;
}

}  // namespace

std::vector<Culprit> LocateStuckElement(const JobLayout& layout, std::vector<StuckLink> links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
  if (links.empty()) return {};
  const auto pairs = PairsOf(links);
  if (pairs.size() > 1) {
    if (const std::optional<Culprit> common = FindCommon(layout, links)) return {*common};
    const std::vector<std::vector<StuckLink>> groups = SplitByNic(layout, links);
    if (groups.size() > 1) {
      std::vector<Culprit> culprits;
      for (const auto& group : groups) {
        const std::vector<Culprit> of_group = LocateStuckElement(layout, group);
        culprits.insert(culprits.end(), of_group.begin(), of_group.end());
      }
      std::sort(culprits.begin(), culprits.end());
      return culprits;
    }
  }
  std::vector<Culprit> culprits;
  for (const auto& [from, to] : pairs) {
    Culprit culprit = CulpritAt(layout, CulpritKind::kConnection, from);
    culprit.peer = to;
    culprit.plane = CommonPlane(layout, links);
    culprits.push_back(culprit);
  }
  return culprits;
}

}  // namespace fairlead::diagnosis::c4d
