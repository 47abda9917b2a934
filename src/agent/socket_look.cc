#include "agent/socket_look.h"

#include "agent/connection_table.h"

namespace fairlead::agent {

SocketLook::SocketLook(const SocketsSeen& event) {
  for (const SeenSocket& socket : event.sockets) {
    by_ends_.emplace(socket.ends, socket.inode);
    if (socket.is_over) over_.insert(socket.ends);
    if (socket.inode != 0) by_inode_.emplace(socket.inode, &socket);
  }
}

std::optional<uint16_t> SocketLook::FindOpened(const KeptConnection& kept) const {
  const auto found = by_inode_.find(kept.inode);
  if (found == by_inode_.end()) return std::nullopt;
  const SocketPair& ends = found->second->ends;
  const bool is_it = ends.remote == kept.wanted.destination && ends.remote_port == kept.wanted.destination_port;
  return is_it ? std::optional(ends.local_port) : std::nullopt;
}

bool SocketLook::IsAlive(const KeptConnection& kept) const {
  const auto found = by_ends_.find(EndsOf(kept));
  if (found == by_ends_.end() || over_.contains(found->first)) return false;
  // The same ports may be those of a later connection already.
  return found->second == 0 || found->second == kept.inode;
}

}  // namespace fairlead::agent
