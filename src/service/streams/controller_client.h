// An agent's end of the stream to the controller: keeps one open, sends its input, and hands over received messages.
//
// Threads     all functions are called from one thread, the owner's, which never waits: a thread of ours listens, and
//             signals a descriptor for the owner's poll loop. Send() may also be called from others.
// Streams     messages belong to the stream on which they are sent. A stream that ends loses unsent messages, so on the
//             next one the owner sends its identity and state. Send() sends nothing on a stream that Poll() has not
//             announced to the owner: messages meant for the last one never get into the next.
// Slow peers  when more than `unsent_bytes_max` waits, the stream is ended; when more than `unheard_max` messages wait
//             for Poll(), the controller has to wait.
// Reconnect   after a failure, at a random time of half to all of a delay that doubles from `delay_min` to `delay_max`;
//             a Welcome sets it back. A fresh channel each time reads the TLS files again.
// Revoked     a controller whose certificate is on the list of revoked ones hears nothing from us. The list is reread
//             when it changes, within a second, and ends an open stream; one that can't be used any more stays as it
//             was (certificate_watch.h says so).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "controller/host_messages.h"
#include "service/streams/tls_files.h"

namespace fairlead::service {

struct ControllerClientOptions {
  std::string address;  // of the controller: "unix:PATH", "HOST:PORT" (endpoint.h)
  // None set: plaintext, which only addresses of this machine may have, or any where `is_insecure_allowed`.
  TlsFiles tls = {};
  bool is_insecure_allowed = false;
  // The name in the controller's certificate; empty: the host of `address`.
  std::string controller_name = {};
  size_t unsent_bytes_max = size_t{16} << 20;
  size_t unheard_max = 4096;
  // > 0, min <= max. Shorter: back sooner, and more of a crowd when a controller starts.
  std::chrono::milliseconds delay_min{200};
  std::chrono::milliseconds delay_max{10'000};
  uint64_t random_seed = 0;  // of the delays; hosts should differ
};

// The controller's clock against this host's, by one exchange.
struct ClockComparison {
  double offset_s = 0;  // > 0: the controller's clock is ahead
  double error_s = 0;   // of the offset, at most: half of the time that the exchange took
};

// The stream is there: say hello.
struct StreamOpened {
  std::optional<ClockComparison> clocks;  // none: the controller is of a version that sends no time
};
// It is gone, or could not be had; another one is being tried.
struct StreamClosed {
  std::string reason;  // for people
};
using ClientEvent = std::variant<StreamOpened, StreamClosed, controller::ToAgent>;

class ControllerClient {
 public:
  // Begins to connect, and returns at once.
  // Errors: kInvalidArgument: an address that can't be read, or that must not have plaintext; options out of range; TLS
  // files that can't be read, or a list of revoked certificates that is none of the authority's. kUnavailable: no
  // descriptors left, or the list can't be read.
  static Result<std::unique_ptr<ControllerClient>> Start(const ControllerClientOptions& options);
  // Ends the stream, without waiting for unsent messages.
  ~ControllerClient();
  ControllerClient(const ControllerClient&) = delete;
  ControllerClient& operator=(const ControllerClient&) = delete;

  // False: there is no stream, or it has just been ended because too much waits; the message is dropped and counted.
  bool Send(const controller::FromAgent& message);

  // What has happened since the last call, in order. Never waits. Clears the descriptor.
  std::vector<ClientEvent> Poll();
  // Readable while Poll() has something. Owned by this.
  int event_descriptor() const;

  // Messages that were dropped by Send(), or unsent when their stream ended.
  uint64_t num_dropped() const;

 private:
  class Connection;
  explicit ControllerClient(std::unique_ptr<Connection> connection);

  std::unique_ptr<Connection> connection_;
};

}  // namespace fairlead::service
