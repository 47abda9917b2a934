#include "traffic/c4p/hashed_paths.h"

namespace fairlead::traffic::c4p {

bool HashedPaths::Follow(QueuePairRef ref, const ConnectionRequest& request, uint16_t port) {
  const auto known = paths_.find(ref);
  if (port == 0 || (known != paths_.end() && known->second.port() == port)) return false;
  Forget(ref);
  const WirePort wire_port = {request.source, request.destination, request.protocol, request.destination_port, port};
  paths_[ref].wire_port = wire_port;
  by_wire_port_[wire_port] = ref;
  return true;
}

void HashedPaths::Forget(QueuePairRef ref) {
  const auto known = paths_.find(ref);
  if (known == paths_.end()) return;
  // The port may belong to another by now, which was reported open before the end of this one.
  const auto owner = by_wire_port_.find(known->second.wire_port);
  if (owner != by_wire_port_.end() && owner->second == ref) by_wire_port_.erase(owner);
  asked_for_.erase(ref);
  paths_.erase(known);
}

uint16_t HashedPaths::NoteAsked(QueuePairRef ref, uint64_t epoch, SimTime now) {
  Path& path = paths_.at(ref);
  path.epoch = epoch;
  path.asked_at = now;
  asked_for_.insert(ref);
  return path.port();
}

void HashedPaths::Learn(const PortScanSeen& scan) {
  if (by_wire_port_.empty()) return;
  for (const ProbedRoute& route : scan.routes) {
    if (route.links.empty()) continue;
    for (const uint16_t port : route.ports) {
      const auto found =
          by_wire_port_.find({scan.source, scan.destination, scan.protocol, scan.destination_port, port});
      if (found == by_wire_port_.end()) continue;
      Path& path = paths_.at(found->second);
      if (path.epoch != scan.epoch) continue;  // sent before the fabric changed
      path.links = route.links;
      asked_for_.erase(found->second);
    }
  }
}

std::vector<QueuePairRef> HashedPaths::Unseen(SimTime asked_until) const {
  std::vector<QueuePairRef> refs;
  for (const QueuePairRef ref : asked_for_) {
    if (paths_.at(ref).asked_at <= asked_until) refs.push_back(ref);
  }
  return refs;
}

std::vector<QueuePairRef> HashedPaths::All() const {
  std::vector<QueuePairRef> refs;
  for (const auto& [ref, path] : paths_) refs.push_back(ref);
  return refs;
}

std::span<const LinkId> HashedPaths::LinksOf(QueuePairRef ref) const {
  const auto path = paths_.find(ref);
  return path == paths_.end() ? std::span<const LinkId>() : std::span<const LinkId>(path->second.links);
}

}  // namespace fairlead::traffic::c4p
