// How queue pairs that share their bytes put them on the wire: in chunks, each with a header.
//
// Problem     a connection of n queue pairs has the bytes of one pool to send. In fixed shares the slowest queue pair
//             decides when the pool is done: 64 queue pairs over 7 links of 8 give some links 10 and others 9.
// Method      the sender gives the next chunk to whichever queue pair takes it: its socket has room again, because
//             enough of what it sent before was acknowledged. The send buffer is kept at two chunks, or it would take
//             whole pools at once. Shares follow the speeds of the paths within one pool, without being computed. The
//             receiver counts the pool as a whole; the number of the phase in the header tells what belongs to it.
//             What came for a later phase stays unread.
// Guarantees  a queue pair that is stuck holds back no more than its send buffer and what is on its way.
// Differs     C4 moves shares by the times that messages take, once in a period (the simulator's QueuePairShares);
//             here they follow at once, because these queue pairs are sockets that say when they have room.
// Reference   Dong et al., C4, HPCA 2025: C4P's dynamic load balance over queue pairs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace fairlead::lab {

// In host byte order: both ends are on one machine.
struct ChunkHeader {
  uint64_t phase = 0;  // counted from the first iteration's first one
  uint32_t bytes = 0;  // that follow; > 0
  uint32_t magic = 0;  // a peer whose plan shares nothing is noticed immediately
};
static_assert(sizeof(ChunkHeader) == 16);

// Bytes of a chunk; only the last one of a pool, or of what a ring allows, is shorter. More: fewer headers; fewer:
// queue pairs end closer together. Each queue pair gets at least 16 of a pool, of 4 KiB or more. The two chunks that
// each has room for are no more than 128 KiB together, twice what four hops of packets of 16 KiB hold: what waits
// beyond that when the last chunk is given out only makes the other end begin its next pool later.
// Args: num_connections: >= 1.
uint64_t ChunkBytes(uint64_t pool_bytes, uint32_t num_connections);

// The sending end of one connection.
class ChunkSender {
 public:
  // A chunk has begun and is not sent yet.
  bool is_open() const { return header_left_ > 0 || bytes_left_ > 0; }

  // Offers a chunk to a connection that has none open. Returns true when it took it: no other connection may send it
  // then. Errors: kUnavailable: the connection is broken; why.
  Result<bool> Begin(int socket, uint64_t phase, uint32_t bytes);

  // Sends what the connection takes now of the open chunk. Returns bytes without header; 0: it takes no more now.
  // Args: content: what to send; not more than its size in one call. Errors: as Begin.
  Result<uint64_t> Send(int socket, std::string_view content);

 private:
  Result<bool> SendHeader(int socket);

  ChunkHeader header_;
  size_t header_left_ = 0;
  uint64_t bytes_left_ = 0;
};

// The receiving end.
class ChunkReceiver {
 public:
  // The next bytes belong to a later phase: nothing to wait for in this one.
  bool is_early(uint64_t phase) const { return bytes_left_ > 0 && header_.phase > phase; }

  // The peer has closed the connection after its last chunk. It has sent all that it had to, and the rest of a pool may
  // still be on its way over other connections.
  bool has_ended() const { return has_ended_; }

  // Receives bytes of chunks of `phase`. Returns bytes without headers; 0: none are there now, or it has ended. Args:
  // expected: bytes of the pool that have not come yet, > 0; scratch: room, its content does not matter. Errors:
  // kUnavailable: the connection is broken or closed in a chunk, or the peer sends something unexpected; why.
  Result<uint64_t> Receive(int socket, uint64_t phase, uint64_t expected, std::string* scratch);

 private:
  Result<bool> ReceiveHeader(int socket, uint64_t phase);

  ChunkHeader header_;
  size_t header_have_ = 0;   // bytes of the header that is coming in
  uint64_t bytes_left_ = 0;  // of the chunk
  bool has_ended_ = false;
};

}  // namespace fairlead::lab
