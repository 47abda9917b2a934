// The messages of a worker (message_flow.h) on its sockets: asks and tells when receivers are ready, and finds out what
// has arrived at the other end.
//
// What a socket has taken is not at the receiver: a message is done when TCP has had it acknowledged (SIOCOUTQ: bytes
// that are unsent or unacknowledged). No event tells of that, so while something is awaited the worker looks again
// after one, two, at most four milliseconds; mostly something else wakes it before. Receivers acknowledge at once
// (TCP_QUICKACK): 40 ms of delay would look like a wire that stalls.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lab/trainer/clearance.h"
#include "lab/trainer/collective_observer.h"
#include "lab/trainer/connections.h"
#include "lab/trainer/message_flow.h"

namespace fairlead::lab {

class MessageTransport {
 public:
  // All must outlive it; `connections` as in the plan.
  MessageTransport(const TrainerPlan& plan, const Connections& connections, CollectiveObserver* observer);
  MessageTransport(const MessageTransport&) = delete;  // it is called back
  MessageTransport& operator=(const MessageTransport&) = delete;

  // As those of MessageFlow.
  void BeginPhase(uint64_t iteration, size_t phase, IterationState* state) {
    flow_.BeginPhase(iteration, phase, state);
  }
  void EndPhase() { flow_.EndPhase(); }
  // A socket has taken so many bytes of data.
  void OnTaken(uint32_t connection, uint64_t bytes) { taken_[connection] += bytes; }

  // Data has been read from a socket.
  void OnRead(uint32_t connection) const;

  struct Loss {
    uint32_t connection = 0;
    std::string why;
  };
  // Does all that can be done now, once; sets what may be sent. Args: state: null: no phase runs.
  // Returns whether anything got further. A connection that is broken: `loss` tells.
  bool Poll(IterationState* state);
  const std::optional<Loss>& loss() const { return loss_; }

  // Beside data something is waited for that the connection's peer has to say.
  bool AwaitsPeer(uint32_t connection) const { return flow_.AwaitsClearToSend(connection); }
  // Apart from data, a message to its peer could not be sent.
  bool AwaitsRoom(uint32_t connection) const { return is_full_[connection]; }
  // When to poll again though nothing happens; nothing: no need.
  std::optional<double> poll_after_s() const;
  bool is_idle() const { return flow_.is_idle(); }

 private:
  void ReadAcknowledgements();
  void ReadClearances();
  bool ClearToSend(uint32_t connection, uint64_t messages);

  const TrainerPlan& plan_;
  const Connections& connections_;
  std::vector<ClearanceReader> readers_;  // [connection]
  std::vector<ClearanceWriter> writers_;
  std::vector<bool> is_full_;           // [connection] of a clearance
  std::vector<uint64_t> taken_;         // [connection] bytes of data, since the beginning
  std::vector<uint64_t> acknowledged_;  // of these
  std::optional<Loss> loss_;
  uint32_t num_quiet_polls_ = 0;  // in a row, without news
  MessageFlow flow_;
};

}  // namespace fairlead::lab
