// The gate before a library that serves streams: accepts connections, and lets in those that speak.
//
// Problem     gRPC 1.51 stops listening for good when accept() fails once, which 1,400 silent connections bring about
//             where a process may have 1,024 descriptors; and each silent connection costs it memory.
// Method      a thread of its own accepts. A connection waits here until its client has said something, as clients of
//             gRPC do at once (TLS or HTTP/2), and is handed over then. At most `num_silent_max` wait, `patience` each;
//             the oldest gives way to the next. A connection whose descriptor has a number within `num_reserved` of the
//             limit is closed: those numbers are for files and other parts of the process. Nothing that accept() says
//             ends it.
// Guarantees  whoever speaks at once is not held up by others that do not.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "service/streams/endpoint.h"

namespace fairlead::service {

struct ConnectionGateOptions {
  size_t num_silent_max = 256;
  std::chrono::milliseconds patience{5'000};
  // Descriptors that connections leave to others, but no more than an eighth of the limit (RLIMIT_NOFILE).
  size_t num_reserved = 128;
};

class ConnectionGate {
 public:
  // Takes a connection over; by the thread of the gate. Args: endpoint: which of those of Open(); listener: its socket.
  using LetIn = std::function<void(size_t endpoint, int listener, int connection)>;

  // Listens when it returns. Args: endpoints: host and port, whose ports are then as they are; none: there is nothing
  // to do. Errors: kFailedPrecondition: an address can't be had.
  static Result<std::unique_ptr<ConnectionGate>> Open(const std::vector<Endpoint*>& endpoints,
                                                      const ConnectionGateOptions& options, LetIn let_in);
  ~ConnectionGate();
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;

  // Whether clients get in: kResourceExhausted where the next one would not, or some did not in the last ten seconds,
  // for want of descriptors; kUnavailable where its thread does not run. Any thread.
  Status status() const;
  uint64_t num_refused() const;   // for want of descriptors
  uint64_t num_given_up() const;  // for silence

 private:
  class Loop;
  explicit ConnectionGate(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

}  // namespace fairlead::service
