#include "collective/hierarchical_collectives.h"

#include <algorithm>

#include "collective/ring_collectives.h"

namespace fairlead::collective {
namespace {

bool HaveEqualSizes(std::span<const Communicator> hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const Communicator& h) { return h.size() == hosts[0].size(); });
}

// Args: passes: around each host's ring, 2 for all-reduce, 1 for its halves. append_ring(ranks, size): between hosts.
template <typename AppendBetweenHosts>
void AppendHierarchical(std::span<const RankPlace> ranks, Bytes size, int passes, FlowSet& flows,
                        AppendBetweenHosts append_ring) {
  if (ranks.size() <= 1 || size <= Bytes(0)) return;
  std::vector<Communicator> hosts = GroupByHost(ranks);
  if (!HaveEqualSizes(hosts)) {
    append_ring(ranks, size);
    return;
  }
  const size_t gpus_per_host = hosts[0].size();
  for (Communicator& host : hosts) {
    // Ranks of equal place meet on a rail, in whatever order the communicator lists them.
    std::sort(host.begin(), host.end(), [](auto& a, auto& b) { return a.local_index < b.local_index; });
    AppendRing(host, size, passes, flows);
  }
  const Bytes share = size / static_cast<double>(gpus_per_host);
  Communicator rail(hosts.size());
  for (size_t place = 0; place < gpus_per_host; ++place) {
    for (size_t h = 0; h < hosts.size(); ++h) rail[h] = hosts[h][place];
    append_ring(rail, share);
  }
}

void AppendHierarchicalRings(std::span<const RankPlace> ranks, Bytes size, int passes, FlowSet& flows) {
  AppendHierarchical(ranks, size, passes, flows,
                     [&](std::span<const RankPlace> rail, Bytes share) { AppendRing(rail, share, passes, flows); });
}

}  // namespace

void AppendHierarchicalAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendHierarchicalRings(ranks, size, 2, flows);
}

void AppendInNetworkAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  Communicator by_host(ranks.begin(), ranks.end());
  std::stable_sort(by_host.begin(), by_host.end(), [](auto& a, auto& b) { return a.host < b.host; });
  AppendHierarchical(by_host, size, 2, flows,
                     [&](std::span<const RankPlace> tree, Bytes share) { AppendRingOf(tree, share, 1, flows); });
}

void AppendHierarchicalReduceScatter(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendHierarchicalRings(ranks, size, 1, flows);
}

void AppendHierarchicalAllGather(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendHierarchicalRings(ranks, size, 1, flows);
}

}  // namespace fairlead::collective
