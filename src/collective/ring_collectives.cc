#include "collective/ring_collectives.h"

namespace fairlead::collective {
namespace {

Communicator InRingOrder(std::span<const RankPlace> ranks) {
  Communicator ring;
  ring.reserve(ranks.size());
  for (const Communicator& host : GroupByHost(ranks)) ring.insert(ring.end(), host.begin(), host.end());
  return ring;
}

// The first `num_edges` edges of the ring, in one group.
void AppendEdges(std::span<const RankPlace> ranks, size_t num_edges, Bytes bytes, FlowSet& flows) {
  if (ranks.size() <= 1 || bytes <= Bytes(0)) return;
  const Communicator ring = InRingOrder(ranks);
  const uint32_t group = flows.NewGroup();
  for (size_t i = 0; i < num_edges; ++i) flows.Add(ring[i], ring[(i + 1) % ring.size()], bytes, group);
}

}  // namespace

void AppendRing(std::span<const RankPlace> ranks, Bytes bytes, FlowSet& flows) {
  AppendEdges(ranks, ranks.size(), bytes, flows);
}

void AppendRingAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (!ranks.empty()) AppendRing(ranks, size * (2 * RingShare(ranks.size())), flows);
}

void AppendRingReduceScatter(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (!ranks.empty()) AppendRing(ranks, size * RingShare(ranks.size()), flows);
}

void AppendRingAllGather(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendRingReduceScatter(ranks, size, flows);
}

void AppendRingBroadcast(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (!ranks.empty()) AppendEdges(ranks, ranks.size() - 1, size, flows);
}

}  // namespace fairlead::collective
