// The sockets of this host as the kernel listed them once, by their ends and by their inodes.
//
// Problem     a connection is looked for by what is known of it: an open one by its ends, one whose process has gone
//             without a message by the inode of its socket. Inodes and ports are used again, and a socket that was
//             closed goes on sending for a while, without an inode.
// Guarantees  a socket is taken for a connection's only if its inode and its ends allow it.
// Cost        O(n log n) to make, n: sockets; O(log n) a question.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "agent/agent_state.h"
#include "agent/host_agent_messages.h"

namespace fairlead::agent {

class SocketLook {
 public:
  using ByEnds = std::map<SocketPair, uint64_t>;  // inodes; those that are over, too
  using ByInode = std::unordered_map<uint64_t, const SeenSocket*>;

  // `event` must outlive this.
  explicit SocketLook(const SocketsSeen& event);

  const ByEnds& by_ends() const { return by_ends_; }
  const ByInode& by_inode() const { return by_inode_; }
  ByEnds TakeEnds() { return std::move(by_ends_); }

  // The port of the socket that this connection was opened with; nothing: it is not there, or leads elsewhere.
  std::optional<uint16_t> FindOpened(const KeptConnection& kept) const;
  // Its socket is there, and may still send. Args: kept: open.
  bool IsAlive(const KeptConnection& kept) const;

 private:
  ByEnds by_ends_;
  ByInode by_inode_;
  std::set<SocketPair> over_;  // of these nothing is sent any more
};

}  // namespace fairlead::agent
