#include "sim/chaos/chaos_fabric.h"

#include <algorithm>

#include "topology/clos_fabrics.h"
#include "topology/rail_fabric.h"

namespace fairlead::sim::chaos {

namespace {

constexpr uint32_t kHostsPerLeaf = 3;
constexpr uint32_t kNumSpines = 4;

}  // namespace

topology::Fabric MakeChaosFabric(uint32_t num_hosts, uint32_t num_nic_ports) {
  const uint32_t num_leaves = std::max(2u, (num_hosts + kHostsPerLeaf - 1) / kHostsPerLeaf);
  topology::HostSpec host;
  host.gpus = 1;
  host.nics = 1;
  host.pcie_switches = 1;
  host.sockets = 1;
  host.ports_per_nic = num_nic_ports;
  if (num_nic_ports > 1) {
    topology::RailSpec spec;
    spec.segments = num_leaves;
    spec.hosts_per_segment = kHostsPerLeaf;
    spec.spines = kNumSpines;
    spec.host = host;
    return topology::BuildRail(spec).value();
  }
  topology::ClosSpec spec;
  spec.leaves = num_leaves;
  spec.hosts_per_leaf = kHostsPerLeaf;
  spec.spines = kNumSpines;
  spec.host = host;
  return topology::BuildClos(spec).value();
}

}  // namespace fairlead::sim::chaos
