// For tests: random cablings of hosts, leaves, spines and cores, to be written in the formats of other tools; and what
// a fabric's cables are, whatever the order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "topology/fabric.h"

namespace fairlead::topology {

struct RandomCable {
  size_t lower = 0;  // [RandomCabling::devices]
  size_t upper = 0;
  uint32_t lower_port = 0;  // from 1, each once per device
  uint32_t upper_port = 0;
  double gbps = 0;
};

struct RandomCabling {
  std::vector<std::string> devices;  // hosts, then switches
  std::vector<NodeKind> kinds;       // kNic for hosts
  std::vector<RandomCable> cables;   // of a host: one per NIC, in order

  bool IsHost(size_t device) const { return kinds[device] == NodeKind::kNic; }
};

// Two or three layers, parallel cables, speeds out of `speeds`. Every switch has a way to a host below it, and every
// two hosts have one to each other: cable number i of a layer goes to switch i of the next, modulo, at least once
// around.
inline RandomCabling DrawCabling(Random* random, const std::vector<double>& speeds) {
  RandomCabling drawn;
  const bool has_cores = random->Below(2) == 0;
  std::vector<std::vector<size_t>> layers(has_cores ? 4 : 3);
  constexpr const char* kNames[] = {"node", "leaf", "spine", "core"};
  constexpr NodeKind kKinds[] = {NodeKind::kNic, NodeKind::kLeaf, NodeKind::kSpine, NodeKind::kCore};
  for (size_t l = 0; l < layers.size(); ++l) {
    const size_t count = l == 0 ? 4 + random->Below(12) : 1 + random->Below(4);
    for (size_t n = 0; n < count; ++n) {
      layers[l].push_back(drawn.devices.size());
      drawn.devices.push_back(fmt::format("{}{}", kNames[l], n + 8));  // 9, 10: the order of text is another
      drawn.kinds.push_back(kKinds[l]);
    }
  }
  std::vector<uint32_t> ports(drawn.devices.size(), 0);
  const auto add = [&](size_t lower, size_t upper) {
    const double gbps = speeds[random->Below(speeds.size())];
    drawn.cables.push_back({lower, upper, ++ports[lower], ++ports[upper], gbps});
  };
  // Hosts share one number of NICs, but for some.
  const uint64_t nics = 1 + random->Below(4);
  for (size_t i = 0; i < layers[0].size(); ++i) {
    const uint64_t own = random->Below(5) == 0 ? 1 + random->Below(4) : nics;
    for (uint64_t n = 0; n < own; ++n) add(layers[0][i], layers[1][(i + n) % layers[1].size()]);
  }
  for (size_t l = 1; l + 1 < layers.size(); ++l) {
    for (const size_t lower : layers[l]) {
      for (const size_t upper : layers[l + 1]) {
        const uint64_t parallel = 1 + random->Below(3);
        for (uint64_t n = 0; n < parallel; ++n) add(lower, upper);
      }
    }
  }
  return drawn;
}

// "node9/nic0->leaf8 200", sorted.
inline std::vector<std::string> CablesOf(const RandomCabling& drawn) {
  std::vector<std::string> cables;
  std::vector<uint32_t> nics(drawn.devices.size(), 0);
  for (const RandomCable& cable : drawn.cables) {
    const std::string nic = drawn.IsHost(cable.lower) ? fmt::format("/nic{}", nics[cable.lower]++) : "";
    cables.push_back(
        fmt::format("{}{}->{} {:.6g}", drawn.devices[cable.lower], nic, drawn.devices[cable.upper], cable.gbps));
  }
  std::ranges::sort(cables);
  return cables;
}
inline std::vector<std::string> CablesOf(const Fabric& fabric) {
  std::vector<std::string> cables;
  for (size_t l = 0; l < fabric.num_links(); l += 2) {
    const LinkId link(l);
    if (!IsNetwork(fabric.tier(link))) continue;
    cables.push_back(fmt::format("{}->{} {:.6g}", fabric.NodeName(fabric.source(link)),
                                 fabric.NodeName(fabric.destination(link)), fabric.capacity(link).value() * 8 / 1e9));
  }
  std::ranges::sort(cables);
  return cables;
}

}  // namespace fairlead::topology
