#include "traffic/c4p/request_faults.h"

#include <fmt/format.h>

namespace fairlead::traffic::c4p {

std::string FindFault(const topology::Fabric& fabric, LeaseId lease, const ConnectionRequest& request) {
  for (const NicId nic : {request.source, request.destination}) {
    if (nic.index() < fabric.num_nics()) continue;
    return fmt::format("no NIC {}; the fabric has {} NICs: does the master know another fabric?", nic.value(),
                       fabric.num_nics());
  }
  const HostId from = fabric.host_of(request.source);
  if (from != lease.host) {
    return fmt::format("source {} belongs to {}: ask from there", fabric.NodeName(fabric.node_of(request.source)),
                       fabric.HostName(from));
  }
  if (fabric.host_of(request.destination) == from) {
    return "both NICs are on one host: its traffic crosses no link of the fabric and needs no path";
  }
  if (request.num_queue_pairs < 1 || request.num_queue_pairs > kMaxQueuePairs) {
    return fmt::format("queue pairs: expected 1 to {}, found {}", kMaxQueuePairs, request.num_queue_pairs);
  }
  if (!(request.weight > 0 && request.weight <= kWeightMax)) {
    return fmt::format("weight: expected > 0 and at most {:g}, found {}", kWeightMax, request.weight);
  }
  return "";
}

std::string FindConflict(const topology::Fabric& fabric, const ConnectionState& known, LeaseId lease,
                         const ConnectionRequest& request) {
  if (known.lease == lease && known.request == request) return "";
  return fmt::format(
      "the name is taken by a connection of {} from {} to {} with {} queue pairs: release that one first, or take "
      "another name",
      fabric.HostName(known.lease.host), fabric.NodeName(fabric.node_of(known.request.source)),
      fabric.NodeName(fabric.node_of(known.request.destination)), known.request.num_queue_pairs);
}

}  // namespace fairlead::traffic::c4p
