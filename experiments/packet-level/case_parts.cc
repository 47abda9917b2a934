#include "experiments/packet-level/case_parts.h"

namespace fairlead::experiments::packet_level {

std::vector<uint32_t> RingHosts(uint32_t num_hosts, uint32_t first) {
  std::vector<uint32_t> hosts;
  for (uint32_t i = 0; i < num_hosts; ++i) {
    hosts.push_back((i % kNumLeaves) * kHostsPerLeaf + first + i / kNumLeaves);
  }
  return hosts;
}

uint32_t ConnectHashed(uint32_t source, uint32_t destination, Random* random, CaseBuilder* builder) {
  return builder->AddConnection(source, destination, static_cast<uint32_t>(random->Below(kNumSpines)));
}

void AddRing(const std::vector<uint32_t>& hosts, uint64_t bytes, const std::vector<uint32_t>& ready, Random* random,
             CaseBuilder* builder) {
  const auto n = static_cast<uint32_t>(hosts.size());
  std::vector<uint32_t> edges;
  for (uint32_t i = 0; i < n; ++i) edges.push_back(ConnectHashed(hosts[i], hosts[(i + 1) % n], random, builder));
  std::vector<uint32_t> received = ready;
  for (uint32_t step = 0; step < 2 * (n - 1); ++step) {
    std::vector<uint32_t> next(n);
    for (uint32_t i = 0; i < n; ++i) {
      std::vector<uint32_t> after;
      if (!received.empty()) after = {received[i]};
      next[(i + 1) % n] = builder->AddMessage(edges[i], bytes / n, std::move(after));
    }
    received = std::move(next);
  }
}

}  // namespace fairlead::experiments::packet_level
