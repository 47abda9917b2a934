#include "sim/chaos/chaos_fabric.h"

#include <algorithm>

#include "topology/clos_fabrics.h"

namespace fairlead::sim::chaos {

namespace {

constexpr uint32_t kHostsPerLeaf = 3;
constexpr uint32_t kNumSpines = 4;

}  // namespace

topology::Fabric MakeChaosFabric(uint32_t num_hosts) {
  topology::ClosSpec spec;
  spec.leaves = std::max(2u, (num_hosts + kHostsPerLeaf - 1) / kHostsPerLeaf);
  spec.hosts_per_leaf = kHostsPerLeaf;
  spec.spines = kNumSpines;
  spec.host.gpus = 1;
  spec.host.nics = 1;
  spec.host.pcie_switches = 1;
  spec.host.sockets = 1;
  return topology::BuildClos(spec).value();
}

}  // namespace fairlead::sim::chaos
