// Tells systemd that we are ready, and again and again that we are alive (sd_notify(3), Type=notify and WatchdogSec=).
//
// The protocol is a datagram of lines to the socket that $NOTIFY_SOCKET names; a library would be one more that can be
// missing. Where nobody asks for it, nothing happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"

namespace fairlead::service {

class ServiceNotifier {
 public:
  // Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment: programs that we start are not us.
  // Thread: before there are others.
  static ServiceNotifier FromEnvironment();

  void Ready() { Send("READY=1"); }
  void Stopping() { Send("STOPPING=1"); }
  // To be called from what must not hang, often: sends three times in the period after which we would be killed. Args:
  // of a clock that does not jump.
  void Beat(int64_t now_ns);

  bool has_watchdog() const { return beat_every_ns_ > 0; }

 private:
  void Send(const std::string& lines);

  std::string path_;  // empty: nobody listens
  Descriptor socket_;
  int64_t beat_every_ns_ = 0;
  std::optional<int64_t> last_beat_ns_;
};

}  // namespace fairlead::service
