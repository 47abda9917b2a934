#include "execution/draw_fault.h"

#include <algorithm>
#include <vector>

#include "execution/expected_finding.h"
#include "execution/network_pairs.h"

namespace fairlead::execution {

namespace {

using model::JobLayout;
using model::RankId;

template <class T>
const T& Pick(const std::vector<T>& from, Random& random) {
  return from[random.Below(from.size())];
}

double DrawMagnitude(FaultKind kind, const JobShape& shape, const NoiseOptions& noise, Random& random) {
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
      return SureStallSeconds(shape, noise) + random.Uniform(0, 60);
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

std::optional<Fault> DrawFault(FaultKind kind, const JobShape& shape, const JobLayout& layout, SimTime begin,
                               Random& random, const NoiseOptions& noise) {
  Fault fault;
  fault.kind = kind;
  fault.begin = begin;
  if (!DrawPlace(fault, shape, layout, random)) return std::nullopt;
  fault.magnitude = DrawMagnitude(kind, shape, noise, random);
  if (!Validate(fault, shape).ok()) return std::nullopt;
  return fault;
}

}  // namespace fairlead::execution
