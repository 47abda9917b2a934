// How much may the kernel hold of what a socket of this process was given to send, and has not sent?
//
// Problem     over TCP sockets NCCL calls a message sent when the kernel has taken it. The kernel's own bound are the
//             megabytes of the socket's buffer: a slow NIC or link is then seen nowhere, and all of a job's ranks wait
//             alike for nobody.
// Method      TCP_NOTSENT_LOWAT on all TCP sockets of the process that have no such bound of their own, whenever
//             connections have begun to send: then the rest of a message waits in NCCL until it can leave. What has
//             left and is not acknowledged counts for nothing, so throughput does not change.
// Cost        one relaxed reading for each call, but for a look: two or three system calls for each open file, at most
//             once in kLookPause.
// Threads     any.
// Options     FAIRLEAD_TCP_UNSENT_BYTES, 128 KiB if not set; 0: sockets are left alone.
#pragma once

#include <atomic>
#include <cstdint>

namespace fairlead::ccl {

class UnsentBound {
 public:
  static constexpr int64_t kLookPauseNs = 100'000'000;

  constexpr UnsentBound() = default;

  // Reads the option. A bad one is reported once, and is as if it were not set.
  void Begin();
  // A connection has begun to send: there are new sockets.
  void NoteSender() { has_news_.store(true, std::memory_order_relaxed); }
  // Sets the bound where it is missing, if there is news and the last look is long enough ago.
  void Follow() {
    if (has_news_.load(std::memory_order_relaxed)) Look();
  }

 private:
  void Look();

  std::atomic<bool> has_news_ = false;
  std::atomic<uint32_t> bytes_ = 0;  // 0: sockets are left alone
  std::atomic<int64_t> looked_ns_ = 0;
};

}  // namespace fairlead::ccl
