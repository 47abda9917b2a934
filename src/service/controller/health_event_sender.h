// Sends health events to a receiver over gRPC, beside the caller: NVSentinel's platform connector, or what speaks like
// it.
//
//     Put() --> [latest event of each node and check] --> one thread --> receiver
//
// Bound       only the latest event of a node and a check waits, so that the queue is bounded by the cluster; a
//             receiver that was away gets the present state, not its history.
// Messages    one for each node.
// Retry       what was not taken is sent again, after 1, 2, 4, … at most 60 s, for as long as it is the latest. The end
//             of the sender drops what waits. A receiver may get an event twice.
// Thread      any.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "wire/health_event_codec.h"

namespace fairlead::service {

struct HealthEventSenderOptions {
  std::string address = {};  // unix:PATH or HOST:PORT
  // Plaintext to another machine.
  bool is_insecure_allowed = false;
  // > 0. Time limit of the receiver for one message.
  std::chrono::milliseconds deadline{5'000};
  // Between attempts: 0 < shortest <= longest.
  std::chrono::milliseconds delay_min{1'000};
  std::chrono::milliseconds delay_max{60'000};
};

struct HealthEventCounters {
  uint64_t events_sent = 0;
  uint64_t failures = 0;  // messages that were not taken
  uint64_t waiting = 0;
  std::string error = {};  // of the latest attempt; empty: it went well
};

class HealthEventSender {
 public:
  // Runs from here on; whether there is a receiver shows later. Errors: kInvalidArgument: options.
  static Result<std::unique_ptr<HealthEventSender>> Start(const HealthEventSenderOptions& options);
  // Waits for a message under way, at most for its deadline.
  ~HealthEventSender();
  HealthEventSender(const HealthEventSender&) = delete;
  HealthEventSender& operator=(const HealthEventSender&) = delete;

  void Put(std::span<const wire::HealthEvent> events);
  HealthEventCounters counters() const;

 private:
  class Impl;
  explicit HealthEventSender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace fairlead::service
