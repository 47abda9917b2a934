// The messages of a worker's operations: which ones are under way, how far each has come, and what may be sent.
//
// Problem     the bytes of a phase flow over sockets as they may. Who watches communication wants to see messages, with
//             a receiver that is ready or not: in a GPU's library it posts a buffer first. TCP takes bytes for a
//             receiver that is far from ready, so that a late worker would look like a slow wire.
// Method      the bytes of a channel are cut into messages of at most kMessageBytes: a few to a part of a ring, or up
//             to four parts to one, so that none waits for a part that waits for it. A receiver says how many messages
//             of a connection it has room for, kMessageSlots beyond what has come, and a sender keeps to that. For each
//             message: filled when the iteration's rules allow its bytes; done when they have been acknowledged. A
//             channel's message k is part k of every share of bytes that the channel has (iteration_state.h). The first
//             connection of a channel represents it: messages are counted there from the worker's beginning on, alike
//             at both ends. What comes next over a connection waits until what was before has ended.
// Cost        O(channel uses under way) a poll.
// Guarantees  never more than kMessageSlots messages of a channel between their begin and their end. Messages of a
//             channel pass each state in order.
// Differs     NCCL's sockets take a message whether the receiver is ready or not; this follows its InfiniBand part.
//             The receiver's GPU takes a message as soon as it is there.
// Reference   NCCL 2.2x, src/transport/net.cc and net_ib.cc: the ready-to-receive FIFO.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "lab/trainer/collective_observer.h"
#include "lab/trainer/iteration_state.h"
#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

inline constexpr uint32_t kMessageSlots = 4;
// Four of them fit into the windows of a lab's connections (256 KiB), so that everything a receiver has requested can
// be acknowledged although its process is stopped. Smaller ones take no longer on the slow links of a lab than a busy
// machine needs to notice their ends, and links let their first 32 KiB through at once.
inline constexpr uint64_t kMessageBytes = uint64_t{48} * 1024;

class MessageFlow {
 public:
  // Tells the sender at the other end of a connection how many messages it may send, counted from the beginning.
  // Returns whether that is on its way; else it is tried again.
  using ClearToSend = std::function<bool(uint32_t connection, uint64_t messages)>;

  // All must outlive it.
  MessageFlow(const TrainerPlan& plan, CollectiveObserver* observer, ClearToSend clear_to_send);

  // The phase has begun; `state` is in it until EndPhase.
  void BeginPhase(uint64_t iteration, size_t phase, IterationState* state);
  void EndPhase();

  // The receiver has room for so many messages of the connection, counted from the beginning.
  void OnClearToSend(uint32_t connection, uint64_t messages);

  // Follows what has happened, and sets what may be sent. Returns whether anything has got further.
  // Args: acknowledged [connection]: bytes of outgoing connections that have arrived at the other end, since the
  // beginning; state: that of BeginPhase; null: no phase runs.
  bool Poll(std::span<const uint64_t> acknowledged, IterationState* state);

  // Waits for the receiver's message on this connection.
  bool AwaitsClearToSend(uint32_t connection) const;
  // Something that was given to the network has not been acknowledged.
  bool AwaitsAcknowledgement() const;
  // A channel use waits for the end of the one before.
  bool HasQueue() const;
  // Nothing is under way.
  bool is_idle() const { return uses_.empty(); }

 private:
  struct Share {
    uint64_t bytes = 0;
    std::vector<uint32_t> connections;
  };
  struct Channel {
    ChannelUse use;  // iteration is meaningless
    uint32_t num_messages = 0;
    std::vector<Share> shares;

    uint32_t first_connection() const { return shares[0].connections[0]; }
    uint64_t BytesOf(uint32_t message) const;
  };
  // A use of a channel. Messages below a number have come so far.
  struct Use {
    const Channel* channel = nullptr;
    uint64_t iteration = 0;
    bool has_begun = false;
    bool is_current = true;       // its phase runs
    uint64_t first_message = 0;   // of its connection
    std::vector<uint64_t> bases;  // [share] bytes that were acknowledged on its connections before
    uint32_t posted = 0;          // sends: buffer is free; receives: likewise
    uint32_t filled = 0;          // sends
    uint32_t given = 0;           // sends: to the network; receives: the sender was notified
    uint32_t done = 0;

    ChannelUse Name() const;
  };

  static uint64_t NumMessages(uint64_t bytes, uint64_t parts, uint64_t lead);
  Channel MakeChannel(const ChannelUse& use, const PhasePlan& phase, const ChannelPlan& plan) const;
  bool IsBlocked(size_t index) const;
  void Begin(Use* use);
  bool PollSend(Use* use, std::span<const uint64_t> acknowledged, IterationState* state);
  bool PollReceive(Use* use, IterationState* state);
  bool IsFilled(const Use& use, uint32_t message, const IterationState* state) const;
  bool HasArrived(const Use& use, uint32_t message, const IterationState& state) const;
  bool IsAcknowledged(const Use& use, uint32_t message, std::span<const uint64_t> acknowledged) const;
  void Tell(const Use& use, uint32_t message, MessageState state);
  void EndOperations(IterationState* state);

  const TrainerPlan& plan_;
  CollectiveObserver* observer_;
  ClearToSend clear_to_send_;
  std::vector<std::vector<Channel>> channels_;  // [phase]
  std::vector<Use> uses_;                       // in order of their phases
  std::vector<uint64_t> num_messages_;          // [first connection] of uses that have begun
  std::vector<uint64_t> cleared_;               // [first connection] that the receiver has room for
  uint64_t iteration_ = 0;
  size_t phase_ = 0;
  std::vector<bool> has_ended_;  // [operation of the phase that runs]
};

}  // namespace fairlead::lab
