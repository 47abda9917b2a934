// Observer of a worker's communication, at the level of a communication library for GPUs: operations are called by the
// program, run on the GPU, and move messages over channels to peers.
//
//     called ---- begins on the GPU ---------------------- ends there
//                     |  a channel begins                                                     ends
//                     |     message: buffer posted, filled, receiver ready, on the wire, acknowledged
//
// Here a GPU fills a buffer when the worker may send its bytes (IterationState), and takes what has come at once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlead::lab {

// One channel of one operation: indices into TrainerPlan::phases, operations, channels.
struct ChannelUse {
  uint64_t iteration = 0;
  size_t phase = 0;
  size_t operation = 0;
  size_t channel = 0;
  bool is_send = false;

  friend bool operator==(const ChannelUse&, const ChannelUse&) = default;
};

// In the order in which a message passes them.
enum class MessageState : uint8_t {
  kSendWaitsForGpu,   // a buffer is free, and not filled
  kSendWaitsForPeer,  // filled; the receiver has posted no buffer for it. Called repeatedly while that is so
  kSendOnWire,        // given to the network
  kSendDone,          // acknowledged
  kReceiveBegan,      // a buffer is free, and the sender not notified. Called repeatedly while that is so
  kReceivePosted,     // the sender has been notified
  kReceiveArrived,    // all of it is there
  kReceiveTaken,      // the GPU has taken it
};

// Calls come from one thread, that of Train(), in the order of what happens; none may block for long.
class CollectiveObserver {
 public:
  virtual ~CollectiveObserver() = default;

  // The program calls all operations of the phase. Phases are called in order, before they begin.
  virtual void OnCalled(uint64_t iteration, size_t phase) = 0;
  // The operations of the phase begin on the GPU.
  virtual void OnBegan(uint64_t iteration, size_t phase) = 0;
  // One of them ends there: all it sends has been given to the network, and what it receives is there.
  virtual void OnEnded(uint64_t iteration, size_t phase, size_t operation) = 0;

  // Between its operation's beginning, or the end of what the connection carried before, and its last message's end,
  // which may come later than the operation's.
  virtual void OnChannelBegan(const ChannelUse& use, uint32_t num_messages) = 0;
  virtual void OnChannelEnded(const ChannelUse& use) = 0;
  // Args: message: number in its channel use; bytes: of the message.
  virtual void OnMessage(const ChannelUse& use, uint32_t message, MessageState state, uint64_t bytes) = 0;
};

}  // namespace fairlead::lab
