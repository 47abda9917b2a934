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
void AppendEdges(std::span<const RankPlace> ranks, size_t num_edges, Bytes bytes, double num_steps, FlowSet& flows) {
  if (ranks.size() <= 1 || bytes <= Bytes(0)) return;
  const Communicator ring = InRingOrder(ranks);
  const uint32_t group = flows.NewGroup();
  if (ring.front().host != ring.back().host) flows.AddChain(num_steps);
  for (size_t i = 0; i < num_edges; ++i) flows.Add(ring[i], ring[(i + 1) % ring.size()], bytes, group);
}

}  // namespace

void AppendRingOf(std::span<const RankPlace> ranks, Bytes bytes, double num_steps, FlowSet& flows) {
  AppendEdges(ranks, ranks.size(), bytes, num_steps, flows);
}

void AppendRing(std::span<const RankPlace> ranks, Bytes size, int passes, FlowSet& flows) {
  if (ranks.empty()) return;
  const auto num_steps = static_cast<double>(ranks.size() - 1) * passes;
  AppendRingOf(ranks, size * (passes * RingShare(ranks.size())), num_steps, flows);
}

void AppendRingAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendRing(ranks, size, 2, flows);
}

void AppendRingReduceScatter(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendRing(ranks, size, 1, flows);
}

void AppendRingAllGather(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendRingReduceScatter(ranks, size, flows);
}

void AppendRingBroadcast(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (ranks.empty()) return;
  AppendEdges(ranks, ranks.size() - 1, size, static_cast<double>(ranks.size() - 1), flows);
}

}  // namespace fairlead::collective
