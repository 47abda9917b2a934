#include "traffic/c4p/hashed_path_probes.h"

namespace fairlead::traffic::c4p {

void HashedPathProbes::Follow(QueuePairRef ref, uint16_t port, SimTime now) {
  if (paths_.Follow(ref, world_.connections.at(ref.connection).request, port)) Ask(ref, now);
}

void HashedPathProbes::Learn(std::span<const PortScanSeen> scans) {
  for (const PortScanSeen& scan : scans) paths_.Learn(scan);
}

void HashedPathProbes::AskForAll(SimTime now) {
  for (const QueuePairRef ref : paths_.All()) Ask(ref, now);
}

void HashedPathProbes::AskForUnseen(SimTime now) {
  for (const QueuePairRef ref : paths_.Unseen(now - timeout_)) Ask(ref, now);
}

void HashedPathProbes::Ask(QueuePairRef ref, SimTime now) {
  const ConnectionState& connection = world_.connections.at(ref.connection);
  const ConnectionRequest& request = connection.request;
  const auto from = world_.catalogue.ports(request.source);
  const auto to = world_.catalogue.ports(request.destination);
  if (from.empty() || to.empty()) return;
  const uint64_t epoch = world_.ports.EpochOf(from[0].leaf, to[0].leaf);
  const uint16_t port = paths_.NoteAsked(ref, epoch, now);
  // The host's own hash chooses the plane; the order needs one that there is.
  outputs_->Scan(connection.lease.host, {.source = request.source,
                                         .destination = request.destination,
                                         .plane = 0,
                                         .protocol = request.protocol,
                                         .destination_port = request.destination_port,
                                         .epoch = epoch,
                                         .ports = {port}});
}

}  // namespace fairlead::traffic::c4p
