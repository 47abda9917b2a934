#include "collective/hierarchical_collectives.h"

#include <algorithm>

#include "collective/ring_collectives.h"

namespace fairlead::collective {
namespace {

bool HaveEqualSizes(std::span<const Communicator> hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [&](const Communicator& h) { return h.size() == hosts[0].size(); });
}

// `passes` around each ring: 2 for all-reduce, 1 for its halves.
void AppendHierarchical(std::span<const RankPlace> ranks, Bytes size, int passes, FlowSet& flows) {
  if (ranks.size() <= 1 || size <= Bytes(0)) return;
  std::vector<Communicator> hosts = GroupByHost(ranks);
  if (!HaveEqualSizes(hosts)) {
    AppendRing(ranks, size * (passes * RingShare(ranks.size())), flows);
    return;
  }
  const size_t gpus_per_host = hosts[0].size();
  for (Communicator& host : hosts) {
    // Ranks of equal place meet on a rail, in whatever order the communicator lists them.
    std::sort(host.begin(), host.end(), [](auto& a, auto& b) { return a.local_index < b.local_index; });
    AppendRing(host, size * (passes * RingShare(gpus_per_host)), flows);
  }
  const Bytes share = size / static_cast<double>(gpus_per_host);
  Communicator rail(hosts.size());
  for (size_t place = 0; place < gpus_per_host; ++place) {
    for (size_t h = 0; h < hosts.size(); ++h) rail[h] = hosts[h][place];
    AppendRing(rail, share * (passes * RingShare(hosts.size())), flows);
  }
}

}  // namespace

void AppendHierarchicalAllReduce(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendHierarchical(ranks, size, 2, flows);
}

void AppendHierarchicalReduceScatter(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendHierarchical(ranks, size, 1, flows);
}

void AppendHierarchicalAllGather(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  AppendHierarchical(ranks, size, 1, flows);
}

}  // namespace fairlead::collective
