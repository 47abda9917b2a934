// Of the C4P master: queue pairs with paths left to the fabric's hash, and only observed.
//
// Method      the hash takes the five-tuple, so one probe with the port that a queue pair's packets carry goes where
//             they go. It is repeated where it was not seen, and for all queue pairs after a change of the fabric,
//             which moves connections of healthy links too; until another route is seen the last one counts.
#include "traffic/c4p/c4p_master.h"

namespace fairlead::traffic::c4p {

C4pMaster::WirePort C4pMaster::WirePortOf(QueuePairRef ref, uint16_t port) const {
  const ConnectionRequest& request = connections_.at(ref.connection).request;
  return {request.source, request.destination, request.protocol, request.destination_port, port};
}

void C4pMaster::FindOut(QueuePairRef ref, uint16_t port) {
  const auto known = hashed_.find(ref);
  if (port == 0 || (known != hashed_.end() && known->second.port == port)) return;
  ForgetHashedPath(ref);
  hashed_[ref].port = port;
  by_wire_port_[WirePortOf(ref, port)] = ref;
  AskForHashedPath(ref);
}

void C4pMaster::AskForHashedPath(QueuePairRef ref) {
  const ConnectionState& connection = connections_.at(ref.connection);
  const ConnectionRequest& request = connection.request;
  const auto from = catalogue_.ports(request.source);
  const auto to = catalogue_.ports(request.destination);
  if (from.empty() || to.empty()) return;
  // The host's own hash chooses the plane; the order needs one that there is.
  HashedPath& mine = hashed_.at(ref);
  mine.epoch = ports_.EpochOf(from[0].leaf, to[0].leaf);
  mine.asked_at = time_.now();
  asked_for_.insert(ref);
  scan_orders_[connection.lease.host].push_back({.source = request.source,
                                                 .destination = request.destination,
                                                 .plane = 0,
                                                 .protocol = request.protocol,
                                                 .destination_port = request.destination_port,
                                                 .epoch = mine.epoch,
                                                 .ports = {mine.port}});
}

void C4pMaster::LearnHashedPaths(const PortScanSeen& scan) {
  if (by_wire_port_.empty()) return;
  for (const ProbedRoute& route : scan.routes) {
    if (route.links.empty()) continue;
    for (const uint16_t port : route.ports) {
      const auto found =
          by_wire_port_.find({scan.source, scan.destination, scan.protocol, scan.destination_port, port});
      if (found == by_wire_port_.end()) continue;
      HashedPath& mine = hashed_.at(found->second);
      if (mine.epoch != scan.epoch) continue;  // sent before the fabric changed
      mine.links = route.links;
      asked_for_.erase(found->second);
    }
  }
}

void C4pMaster::RetryHashedPaths() {
  for (const QueuePairRef ref : std::set<QueuePairRef>(asked_for_)) {
    if (hashed_.at(ref).asked_at + options_.scan_timeout <= time_.now()) AskForHashedPath(ref);
  }
}

void C4pMaster::AskForAllHashedPaths() {
  for (const auto& [ref, path] : hashed_) AskForHashedPath(ref);
}

void C4pMaster::ForgetHashedPath(QueuePairRef ref) {
  const auto known = hashed_.find(ref);
  if (known == hashed_.end()) return;
  // The port may belong to another by now, which was reported open before the end of this one.
  const auto owner = by_wire_port_.find(WirePortOf(ref, known->second.port));
  if (owner != by_wire_port_.end() && owner->second == ref) by_wire_port_.erase(owner);
  asked_for_.erase(ref);
  hashed_.erase(known);
}

std::span<const LinkId> C4pMaster::LinksOf(QueuePairRef ref) const {
  const ReservationId id = connections_.at(ref).reservation;
  if (id.valid()) return allocator_.reservation(id).route();
  const auto hashed = hashed_.find(ref);
  return hashed == hashed_.end() ? std::span<const LinkId>() : std::span<const LinkId>(hashed->second.links);
}

}  // namespace fairlead::traffic::c4p
