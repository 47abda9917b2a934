// Moves the bytes of a worker's phases through its sockets, whatever can be moved without waiting, and waits for more.
//
// Method      connections that share their bytes with others (pools, chunk.h) move whole chunks, others any number of
//             bytes, in turns so that a pool does not go to its first connections. With an observer bytes are sent as
//             messages, which need the receiver's clearance (message_transport.h).
// Guarantees  the first peer that is lost is remembered, and nothing is moved from then on.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "lab/trainer/chunk.h"
#include "lab/trainer/collective_observer.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/iteration_state.h"
#include "lab/trainer/message_transport.h"
#include "lab/trainer/phase_order.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

class DataMover {
 public:
  // All but the connections must outlive it. Args: connections: as in the plan; observer: of messages, may be null.
  DataMover(const TrainerPlan& plan, const PhaseOrder& order, Connections connections, CollectiveObserver* observer);
  DataMover(const DataMover&) = delete;
  DataMover& operator=(const DataMover&) = delete;

  // Of a job that is observed, else null.
  MessageTransport* messages() { return messages_ ? &*messages_ : nullptr; }
  // Sends and receives what is allowed and possible without waiting. False: a peer was lost.
  bool MoveData(IterationState* state);
  // Sleeps until data can move or the state changes without data, or a moment. False: a peer was lost.
  bool Sleep(const IterationState& state, double now_s);
  // Waits until the peers have got all that was sent. False: stopped, or a peer was lost.
  bool Drain(const std::atomic<bool>& stop);

  // What went wrong; empty: nothing.
  const std::string& lost_peer() const { return lost_peer_; }
  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  void PrepareSharing();
  std::optional<bool> MoveBytes(IterationState* state);
  bool IsWanted(const IterationState& state, uint32_t c) const;
  ssize_t Move(uint32_t c, IterationState* state);
  // Bytes moved; 0: would block; -1: the peer was lost.
  ssize_t SendChunks(uint32_t c, IterationState* state);
  ssize_t ReceiveChunks(uint32_t c, const IterationState& state);
  ssize_t Send(uint32_t c, uint64_t room);
  ssize_t Receive(uint32_t c, uint64_t room);
  bool PoolHasEnded(const IterationState& state, uint32_t member) const;
  void CountSent(uint32_t c, uint64_t bytes);
  ssize_t Lose(uint32_t c, std::string_view why);
  bool HasLost();
  int EventsOf(const IterationState& state, uint32_t c) const;
  void Watch(const IterationState& state);

  const TrainerPlan& plan_;
  const PhaseOrder& order_;
  Connections connections_;
  std::optional<MessageTransport> messages_;
  std::vector<bool> shares_;              // [connection] its bytes with others
  std::vector<ChunkSender> senders_;      // [connection] of those that share
  std::vector<ChunkReceiver> receivers_;  // the same
  std::vector<uint32_t> movable_;         // connections; kept for its memory
  std::string buffer_;
  Descriptor poller_;
  std::vector<int> watched_;  // [connection] epoll events
  std::string lost_peer_;
  uint64_t sent_bytes_ = 0;
  uint64_t received_bytes_ = 0;
};

}  // namespace fairlead::lab
