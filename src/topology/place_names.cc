#include "topology/place_names.h"

#include <string>
#include <utility>
#include <vector>

namespace fairlead::topology {

model::PlaceNames NamePlaces(const Fabric& fabric) {
  std::vector<std::string> hosts;
  for (uint32_t host = 0; host < fabric.num_hosts(); ++host) hosts.push_back(fabric.HostName(HostId(host)));
  std::vector<std::string> nics;
  for (uint32_t nic = 0; nic < fabric.num_nics(); ++nic) nics.push_back(fabric.NodeName(fabric.node_of(NicId(nic))));
  std::vector<std::string> leaves;
  for (const NodeId leaf : fabric.switches(NodeKind::kLeaf)) leaves.push_back(fabric.NodeName(leaf));
  return {std::move(hosts), std::move(nics), std::move(leaves)};
}

}  // namespace fairlead::topology
