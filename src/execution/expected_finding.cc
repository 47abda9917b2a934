#include "execution/expected_finding.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "execution/transfer_pattern.h"

namespace fairlead::execution {

namespace {

using model::Culprit;
using model::CulpritKind;
using model::JobLayout;
using model::LeafId;
using model::RankId;
using model::Syndrome;

// Below this a pause is no hang to anybody (spec 4.3: T_suspect); above the other one it surely is (T_confirm more).
constexpr double kShortStallSeconds = 10;
constexpr double kLongStallSeconds = 25;

Culprit RankCulprit(const JobLayout& layout, RankId rank) {
  Culprit culprit;
  culprit.kind = CulpritKind::kRank;
  culprit.rank = rank;
  culprit.host = layout.ranks[rank.index()].host;
  return culprit;
}

Culprit HostCulprit(HostId host) {
  Culprit culprit;
  culprit.kind = CulpritKind::kHost;
  culprit.host = host;
  return culprit;
}

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

std::vector<Culprit> RanksOf(const JobLayout& layout, HostId host) {
  std::vector<Culprit> culprits;
  for (uint32_t r = 0; r < layout.ranks.size(); ++r) {
    if (layout.ranks[r].host == host) culprits.push_back(RankCulprit(layout, RankId(r)));
  }
  return culprits;
}

// A NIC that few connections use cannot be told from those connections, nor a host's only NIC from the host.
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

ExpectedFinding ExpectSlowLeaf(const JobLayout& layout, LeafId leaf) {
  ExpectedFinding expected{{Syndrome::kCommSlow}, {LeafCulprit(leaf)}};
  const std::vector<HostId> hosts = HostsUnder(layout, leaf);
  // What is behind a leaf of its own cannot be told from the leaf; a leaf of all cannot be compared with another.
  if (hosts.size() == 1) expected.culprits.push_back(HostCulprit(hosts.front()));
  const bool has_another = std::ranges::any_of(layout.ranks, [leaf](const model::RankPlace& place) {
    return std::ranges::find(place.leaves, leaf) == place.leaves.end();
  });
  expected.is_required = has_another;
  return expected;
}

template <class T>
const T& Pick(const std::vector<T>& from, Random& random) {
  return from[random.Below(from.size())];
}

double DrawMagnitude(FaultKind kind, const JobShape& shape, Random& random) {
  switch (kind) {
    case FaultKind::kSlowGpu:
      return random.Uniform(1.3, 2.5);
    case FaultKind::kSlowNicSend:
    case FaultKind::kSlowNicReceive:
    case FaultKind::kSlowConnection:
    case FaultKind::kSlowLeaf:
    case FaultKind::kSlowPlane:
      return random.Uniform(2, 6);
    case FaultKind::kLossyConnection:
      return random.Uniform(0.05, 0.3);
    case FaultKind::kSlowLoader: {
      // A quarter to all of the time that an iteration computes.
      const auto compute = static_cast<double>((shape.forward_time + shape.backward_time).ns()) * shape.micro_batches;
      return 1 + random.Uniform(0.25, 1) * compute / static_cast<double>(std::max<int64_t>(1, shape.loading_time.ns()));
    }
    case FaultKind::kCheckpointStall:
      return random.Uniform(kLongStallSeconds + 5, 90);
    default:
      return 1;
  }
}

// Chooses the ids; false: there is no fitting place.
bool DrawPlace(Fault& fault, const JobShape& shape, const JobLayout& layout, Random& random) {
  fault.rank = RankId(random.Below(shape.NumRanks()));
  switch (fault.kind) {
    case FaultKind::kSlowNicSend:
    case FaultKind::kSlowNicReceive:
    case FaultKind::kSlowConnection:
    case FaultKind::kLossyConnection:
    case FaultKind::kConnectionDown:
    case FaultKind::kNicDown:
    case FaultKind::kSlowLeaf: {
      const std::vector<NetworkPair> pairs = NetworkPairs(shape, layout);
      if (pairs.empty()) return false;
      const NetworkPair pair = Pick(pairs, random);
      fault.rank = fault.kind == FaultKind::kSlowNicReceive ? pair.destination : pair.source;
      fault.peer = pair.destination;
      if (fault.kind == FaultKind::kSlowLeaf) fault.leaf = Pick(layout.ranks[pair.source.index()].leaves, random);
      return true;
    }
    case FaultKind::kSlowPlane:
      fault.plane = static_cast<uint32_t>(random.Below(shape.planes));
      return !NetworkPairs(shape, layout).empty();
    case FaultKind::kHostLost:
    case FaultKind::kAgentLost:
      fault.host = HostId(random.Below(shape.NumHosts()));
      return true;
    case FaultKind::kSlowLoader:
      // Later stages wait for activations longer than for samples.
      fault.rank = RankId(random.Below(uint64_t{shape.tensor_parallel} * shape.data_parallel));
      fault.host = shape.HostOf(fault.rank);
      return true;
    case FaultKind::kCheckpointStall:
      fault.rank = shape.RankAt(static_cast<uint32_t>(random.Below(shape.tensor_parallel)), 0,
                                static_cast<uint32_t>(random.Below(shape.pipeline_parallel)));
      return true;
    default:
      return true;
  }
}

}  // namespace

ExpectedFinding ExpectFinding(const Fault& fault, const JobShape& shape, const JobLayout& layout) {
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
      return ExpectSlowLeaf(layout, fault.leaf);
    case FaultKind::kNicDown:
      return {{Syndrome::kCommHang}, NicCulprits(shape, layout, CulpritKind::kNic, fault.rank)};
    case FaultKind::kConnectionDown:
      return {{Syndrome::kCommHang}, {ConnectionCulprit(fault.rank, fault.peer)}};
    case FaultKind::kSlowLoader:
      if (!fault.host.valid()) return {};
      expected.syndromes = {Syndrome::kNonCommSlow};
      expected.culprits = RanksOf(layout, fault.host);
      expected.culprits.insert(expected.culprits.begin(), HostCulprit(fault.host));
      return expected;
    case FaultKind::kCheckpointStall:
      if (fault.magnitude < kShortStallSeconds) return {};
      expected = {{Syndrome::kNonCommHang}, rank_or_host()};
      expected.is_required = fault.magnitude > kLongStallSeconds;
      return expected;
    case FaultKind::kCrossedOrder: {
      // The ranks wait for each other in a cycle, and any of them may have the wrong order.
      expected = {{Syndrome::kMismatch}, rank_or_host()};
      for (const RankId rank : layout.communicators[CommunicatorIds(shape).Data(fault.rank).index()].ranks) {
        expected.culprits.push_back(RankCulprit(layout, rank));
      }
      return expected;
    }
    case FaultKind::kSlowPlane: {
      Culprit plane;
      plane.kind = CulpritKind::kPlane;
      plane.plane = fault.plane;
      return {{Syndrome::kCommSlow}, {plane}};
    }
    case FaultKind::kWrongSize:
    case FaultKind::kWrongOrder:
      return {{Syndrome::kMismatch}, rank_or_host()};
  }
  return expected;
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

std::vector<NetworkPair> NetworkPairs(const JobShape& shape, const JobLayout& layout) {
  std::set<NetworkPair> pairs;
  const auto add = [&](RankId source, RankId destination) {
    if (!shape.SameHost(source, destination)) pairs.insert({source, destination});
  };
  const CommunicatorIds ids(shape);
  for (uint32_t id = ids.first_data; id < ids.first_pipeline; ++id) {
    const std::vector<RankId>& ranks = layout.communicators[id].ranks;
    for (const TransferEdge& edge : DataParallelPattern(shape, ranks).edges) {
      add(ranks[edge.source], ranks[edge.destination]);
    }
  }
  for (uint32_t id = ids.first_pipeline; id < ids.first_all; ++id) {
    const std::vector<RankId>& ranks = layout.communicators[id].ranks;
    for (size_t stage = 0; stage + 1 < ranks.size(); ++stage) {
      add(ranks[stage], ranks[stage + 1]);
      add(ranks[stage + 1], ranks[stage]);
    }
  }
  return {pairs.begin(), pairs.end()};
}

std::optional<Fault> DrawFault(FaultKind kind, const JobShape& shape, const JobLayout& layout, SimTime begin,
                               Random& random) {
  Fault fault;
  fault.kind = kind;
  fault.begin = begin;
  if (!DrawPlace(fault, shape, layout, random)) return std::nullopt;
  fault.magnitude = DrawMagnitude(kind, shape, random);
  if (!Validate(fault, shape).ok()) return std::nullopt;
  return fault;
}

}  // namespace fairlead::execution
