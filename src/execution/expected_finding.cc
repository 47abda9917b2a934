#include "execution/expected_finding.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/normal_distribution.h"
#include "execution/network_pairs.h"
#include "model/culprits.h"

namespace fairlead::execution {

namespace {

using model::Culprit;
using model::CulpritKind;
using model::HostCulprit;
using model::JobLayout;
using model::LeafId;
using model::RankCulprit;
using model::RankId;
using model::Syndrome;

// Spec 4.3: suspected after that time or that many usual durations of the operation, confirmed that much later.
constexpr double kSuspectSeconds = 10;
constexpr double kSuspectDurations = 10;
constexpr double kConfirmSeconds = 10;
// Reports and looks at them are seconds apart.
constexpr double kReportSlackSeconds = 5;

Culprit NicCulprit(const JobLayout& layout, CulpritKind kind, RankId rank) {
  Culprit culprit;
  culprit.kind = kind;
  culprit.host = layout.ranks[rank.index()].host;
  culprit.nic = layout.ranks[rank.index()].nic;
  return culprit;
}

Culprit ConnectionCulprit(RankId rank, RankId peer) {
  Culprit culprit;
  culprit.kind = CulpritKind::kConnection;
  culprit.rank = rank;
  culprit.peer = peer;
  return culprit;
}

Culprit LeafCulprit(LeafId leaf) {
  Culprit culprit;
  culprit.kind = CulpritKind::kLeaf;
  culprit.leaf = leaf;
  return culprit;
}

Culprit PlaneCulprit(uint32_t plane) {
  Culprit culprit;
  culprit.kind = CulpritKind::kPlane;
  culprit.plane = plane;
  return culprit;
}

std::vector<Culprit> RanksOf(const JobLayout& layout, HostId host) {
  std::vector<Culprit> culprits;
  for (uint32_t r = 0; r < layout.ranks.size(); ++r) {
    if (layout.ranks[r].host == host) culprits.push_back(RankCulprit(layout, RankId(r)));
  }
  return culprits;
}

// A NIC that few connections use cannot be distinguished from those connections, nor a host's only NIC from the host.
std::vector<Culprit> NicCulprits(const JobShape& shape, const JobLayout& layout, CulpritKind kind, RankId rank) {
  std::vector<Culprit> culprits = {NicCulprit(layout, kind, rank)};
  if (kind != CulpritKind::kNic) culprits.push_back(NicCulprit(layout, CulpritKind::kNic, rank));
  for (const NetworkPair& pair : NetworkPairs(shape, layout)) {
    const bool sends = kind != CulpritKind::kNicReceive && pair.source == rank;
    const bool receives = kind != CulpritKind::kNicSend && pair.destination == rank;
    if (sends || receives) culprits.push_back(ConnectionCulprit(pair.source, pair.destination));
  }
  if (kind == CulpritKind::kNic) {
    culprits.push_back(NicCulprit(layout, CulpritKind::kNicSend, rank));
    culprits.push_back(NicCulprit(layout, CulpritKind::kNicReceive, rank));
  }
  return culprits;
}

std::vector<HostId> HostsUnder(const JobLayout& layout, LeafId leaf) {
  std::set<HostId> hosts;
  for (const model::RankPlace& place : layout.ranks) {
    if (std::ranges::find(place.leaves, leaf) != place.leaves.end()) hosts.insert(place.host);
  }
  return {hosts.begin(), hosts.end()};
}

bool IsUnder(const model::RankPlace& place, uint32_t plane, LeafId leaf) { return place.leaves[plane] == leaf; }

// Whether all traffic of the leaf's plane passes it: then neither can be distinguished from the other.
bool CarriesItsPlane(const JobShape& shape, const JobLayout& layout, uint32_t plane, LeafId leaf) {
  return std::ranges::all_of(NetworkPairsOn(shape, layout, plane), [&](const NetworkPair& pair) {
    return IsUnder(layout.ranks[pair.source.index()], plane, leaf) ||
           IsUnder(layout.ranks[pair.destination.index()], plane, leaf);
  });
}

std::set<LeafId> LeavesOf(const JobLayout& layout, uint32_t plane) {
  std::set<LeafId> leaves;
  for (const model::RankPlace& place : layout.ranks) leaves.insert(place.leaves[plane]);
  return leaves;
}

// NICs that all traffic of the leaf passes, such as that of the only rank of its rail that sends: they carry the same
// messages as the leaf, and no message tells one from the other.
std::vector<Culprit> NicsOfAll(const JobShape& shape, const JobLayout& layout, uint32_t plane, LeafId leaf) {
  std::vector<NetworkPair> through = NetworkPairsOn(shape, layout, plane);
  std::erase_if(through, [&](const NetworkPair& pair) {
    return !IsUnder(layout.ranks[pair.source.index()], plane, leaf) &&
           !IsUnder(layout.ranks[pair.destination.index()], plane, leaf);
  });
  std::vector<Culprit> culprits;
  if (through.empty()) return culprits;
  for (const RankId rank : {through.front().source, through.front().destination}) {
    const bool is_common = std::ranges::all_of(
        through, [rank](const NetworkPair& pair) { return pair.source == rank || pair.destination == rank; });
    if (!is_common) continue;
    const std::vector<Culprit> of_nic = NicCulprits(shape, layout, CulpritKind::kNic, rank);
    culprits.insert(culprits.end(), of_nic.begin(), of_nic.end());
  }
  return culprits;
}

ExpectedFinding ExpectSlowLeaf(const JobShape& shape, const JobLayout& layout, LeafId leaf) {
  ExpectedFinding expected{{Syndrome::kCommSlow}, {LeafCulprit(leaf)}};
  const std::vector<HostId> hosts = HostsUnder(layout, leaf);
  // What is behind its own leaf cannot be distinguished from the leaf.
  if (hosts.size() == 1) expected.culprits.push_back(HostCulprit(hosts.front()));
  uint32_t plane = 0;
  while (!LeavesOf(layout, plane).contains(leaf)) ++plane;
  const std::vector<Culprit> nics = NicsOfAll(shape, layout, plane, leaf);
  expected.culprits.insert(expected.culprits.end(), nics.begin(), nics.end());
  if (!CarriesItsPlane(shape, layout, plane, leaf)) return expected;
  expected.culprits.push_back(PlaneCulprit(plane));
  // What carries all traffic of the job cannot be compared with anything.
  expected.is_required = shape.planes > 1;
  return expected;
}

ExpectedFinding ExpectSlowPlane(const JobShape& shape, const JobLayout& layout, uint32_t plane) {
  ExpectedFinding expected{{Syndrome::kCommSlow}, {PlaneCulprit(plane)}};
  for (const LeafId leaf : LeavesOf(layout, plane)) {
    if (CarriesItsPlane(shape, layout, plane, leaf)) expected.culprits.push_back(LeafCulprit(leaf));
  }
  // A plane of all traffic cannot be compared with another.
  expected.is_required = shape.planes > 1;
  return expected;
}

// What the greatest of `count` log-normal factors with mean 1 stays below in 95 % of the cases.
double SlowestOf(uint32_t count, double coefficient_of_variation) {
  constexpr double kShare = 0.95;
  const double tail = 1 - std::pow(kShare, 1.0 / count);
  const double beyond = -NormalQuantile(tail);
  const double variance = std::log1p(coefficient_of_variation * coefficient_of_variation);
  return std::exp(std::sqrt(variance) * beyond - variance / 2);
}

}  // namespace

ExpectedFinding ExpectFinding(const Fault& fault, const JobShape& shape, const JobLayout& layout,
                              const NoiseOptions& noise) {
  ExpectedFinding expected;
  const auto rank_or_host = [&] {
    return std::vector<Culprit>{RankCulprit(layout, fault.rank), HostCulprit(layout.ranks[fault.rank.index()].host)};
  };
  switch (fault.kind) {
    case FaultKind::kGpuMemoryError:
    case FaultKind::kCudaError:
    case FaultKind::kProcessCrash:
      return {{Syndrome::kDead}, rank_or_host()};
    case FaultKind::kNvlinkError:
      if (KillsProcess(fault.kind, shape)) return {{Syndrome::kDead}, rank_or_host()};
      return {{Syndrome::kCommHang, Syndrome::kNonCommHang}, rank_or_host()};
    case FaultKind::kProcessFrozen:
    case FaultKind::kGpuHang:
      // Stopped before an operation, or in its midst.
      return {{Syndrome::kNonCommHang, Syndrome::kCommHang}, rank_or_host()};
    case FaultKind::kHostLost:
    case FaultKind::kAgentLost: {
      expected.syndromes = {Syndrome::kUnreachable};
      if (fault.kind == FaultKind::kHostLost) expected.syndromes.push_back(Syndrome::kDead);
      expected.culprits = RanksOf(layout, fault.host);
      expected.culprits.insert(expected.culprits.begin(), HostCulprit(fault.host));
      return expected;
    }
    case FaultKind::kSlowGpu:
      return {{Syndrome::kNonCommSlow}, rank_or_host()};
    case FaultKind::kSlowNicSend:
      return {{Syndrome::kCommSlow}, NicCulprits(shape, layout, CulpritKind::kNicSend, fault.rank)};
    case FaultKind::kSlowNicReceive:
      return {{Syndrome::kCommSlow}, NicCulprits(shape, layout, CulpritKind::kNicReceive, fault.rank)};
    case FaultKind::kSlowConnection:
    case FaultKind::kLossyConnection:
      return {{Syndrome::kCommSlow}, {ConnectionCulprit(fault.rank, fault.peer)}};
    case FaultKind::kSlowLeaf:
      return ExpectSlowLeaf(shape, layout, fault.leaf);
    case FaultKind::kNicDown:
      return {{Syndrome::kCommHang}, NicCulprits(shape, layout, CulpritKind::kNic, fault.rank)};
    case FaultKind::kConnectionDown:
      return {{Syndrome::kCommHang}, {ConnectionCulprit(fault.rank, fault.peer)}};
    case FaultKind::kSlowLoader:
      if (!fault.host.valid()) return {};
      expected.syndromes = {Syndrome::kNonCommSlow};
      expected.culprits = RanksOf(layout, fault.host);
      expected.culprits.insert(expected.culprits.begin(), HostCulprit(fault.host));
      // The ranks of the first stage are late together: every rank of their class is.
      expected.is_required =
          shape.HostOf(shape.RankAt(shape.tensor_parallel - 1, shape.data_parallel - 1, 0)) != shape.HostOf(RankId(0));
      return expected;
    case FaultKind::kCheckpointStall:
      if (fault.magnitude < kSuspectSeconds) return {};
      expected = {{Syndrome::kNonCommHang}, rank_or_host()};
      expected.is_required = fault.magnitude > SureStallSeconds(shape, noise);
      return expected;
    case FaultKind::kCrossedOrder: {
      // The ranks wait for each other in a cycle, and any of them may have the wrong order.
      expected = {{Syndrome::kMismatch}, rank_or_host()};
      for (const RankId rank : layout.communicators[CommunicatorIds(shape).Data(fault.rank).index()].ranks) {
        expected.culprits.push_back(RankCulprit(layout, rank));
      }
      return expected;
    }
    case FaultKind::kSlowPlane:
      return ExpectSlowPlane(shape, layout, fault.plane);
    case FaultKind::kWrongSize:
    case FaultKind::kWrongOrder:
      return {{Syndrome::kMismatch}, rank_or_host()};
  }
  return expected;
}

double SureStallSeconds(const JobShape& shape, const NoiseOptions& noise) {
  // The first in the barrier waits as long as the slowest of all writers takes, and where stages are through earlier than
  // others, for the last stage, too. How long that usually is is learnt from a few checkpoints, some of them slow ones.
  const uint32_t num_writers = shape.tensor_parallel * shape.pipeline_parallel;
  const double slowest = SlowestOf(num_writers, noise.loading_cv);
  const SimDuration drain = (shape.forward_time + shape.backward_time) * int64_t{shape.pipeline_parallel - 1};
  const double usual = shape.checkpoint_time.seconds().value() * slowest + drain.seconds().value();
  return std::max(kSuspectSeconds, kSuspectDurations * usual) + kConfirmSeconds + kReportSlackSeconds;
}

bool Accepts(const ExpectedFinding& expected, const model::Finding& finding) {
  const auto is_same = [](const Culprit& a, const Culprit& b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
      case CulpritKind::kRank:
        return a.rank == b.rank;
      case CulpritKind::kHost:
        return a.host == b.host;
      case CulpritKind::kNicSend:
      case CulpritKind::kNicReceive:
      case CulpritKind::kNic:
        return a.nic == b.nic;
      case CulpritKind::kConnection:
        return a.rank == b.rank && a.peer == b.peer;
      case CulpritKind::kLeaf:
        return a.leaf == b.leaf;
      case CulpritKind::kPlane:
        return a.plane == b.plane;
    }
    return false;
  };
  if (std::ranges::find(expected.syndromes, finding.syndrome) == expected.syndromes.end()) return false;
  return !finding.culprits.empty() && std::ranges::all_of(finding.culprits, [&](const Culprit& culprit) {
    return std::ranges::any_of(expected.culprits, [&](const Culprit& right) { return is_same(right, culprit); });
  });
}

}  // namespace fairlead::execution
