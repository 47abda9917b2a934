#include "collective/all_to_all.h"

#include <algorithm>

namespace fairlead::collective {
namespace {

// The rank of `host` with this local index, or nullptr.
const RankPlace* FindOnRail(const Communicator& host, uint32_t local_index) {
  const auto found =
      std::find_if(host.begin(), host.end(), [&](const RankPlace& rank) { return rank.local_index == local_index; });
  return found == host.end() ? nullptr : &*found;
}

// Flows between the ranks of one host: the pieces they have for each other, and those that change the rail here.
void AppendInsideHost(std::span<const Communicator> hosts, const Communicator& host, Bytes piece, FlowSet& flows) {
  for (const RankPlace& relay : host) {
    size_t num_pieces = 0;  // each source of this host hands that many to `relay`
    for (const Communicator& other : hosts) {
      num_pieces += FindOnRail(other, relay.local_index) != nullptr ? 1 : 0;
    }
    for (const RankPlace& source : host) {
      if (source.gpu != relay.gpu) flows.AddAlone(source, relay, piece * static_cast<double>(num_pieces));
    }
  }
}

void AppendBetweenHosts(const Communicator& from, const Communicator& to, Bytes piece, FlowSet& flows) {
  for (const RankPlace& destination : to) {
    if (const RankPlace* relay = FindOnRail(from, destination.local_index)) {
      flows.AddAlone(*relay, destination, piece * static_cast<double>(from.size()));
    } else {
      for (const RankPlace& source : from) flows.AddAlone(source, destination, piece);
    }
  }
}

}  // namespace

void AppendAllToAll(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (ranks.size() <= 1 || size <= Bytes(0)) return;
  const Bytes piece = size / static_cast<double>(ranks.size());
  flows.AddChain(1);
  for (const RankPlace& source : ranks) {
    for (const RankPlace& destination : ranks) {
      if (source.gpu != destination.gpu) flows.AddAlone(source, destination, piece);
    }
  }
}

void AppendRailAllToAll(std::span<const RankPlace> ranks, Bytes size, FlowSet& flows) {
  if (ranks.size() <= 1 || size <= Bytes(0)) return;
  const Bytes piece = size / static_cast<double>(ranks.size());
  const std::vector<Communicator> hosts = GroupByHost(ranks);
  flows.AddChain(1);
  for (const Communicator& host : hosts) {
    AppendInsideHost(hosts, host, piece, flows);
    for (const Communicator& other : hosts) {
      if (&other != &host) AppendBetweenHosts(host, other, piece, flows);
    }
  }
}

}  // namespace fairlead::collective
