#include "service/service_notifier.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace fairlead::service {
namespace {

std::string Take(const char* name) {
  const char* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  unsetenv(name);
  return text;
}

// 0: none.
int64_t ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number > 0 ? number : 0;
}

}  // namespace

ServiceNotifier ServiceNotifier::FromEnvironment() {
  ServiceNotifier notifier;
  notifier.path_ = Take("NOTIFY_SOCKET");
  const int64_t period_us = ParseNumber(Take("WATCHDOG_USEC"));
  const std::string process = Take("WATCHDOG_PID");
  const bool is_ours = process.empty() || ParseNumber(process) == getpid();
  const bool is_path = notifier.path_.size() > 1 && (notifier.path_[0] == '/' || notifier.path_[0] == '@') &&
                       notifier.path_.size() < sizeof(sockaddr_un::sun_path);
  if (!is_path) notifier.path_.clear();
  constexpr int64_t kLongestUs = 86'400'000'000;
  if (is_path && is_ours && period_us <= kLongestUs) notifier.beat_every_ns_ = period_us * 1000 / 3;
  return notifier;
}

void ServiceNotifier::Beat(int64_t now_ns) {
  if (beat_every_ns_ == 0 || (last_beat_ns_.has_value() && now_ns - *last_beat_ns_ < beat_every_ns_)) return;
  last_beat_ns_ = now_ns;
  Send("WATCHDOG=1");
}

void ServiceNotifier::Send(const std::string& lines) {
  if (path_.empty()) return;
  if (!socket_.is_open()) socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (path_[0] == '@') address.sun_path[0] = '\0';  // a name that is no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path_.size());
  // A client that does not listen needs no message.
  static_cast<void>(sendto(socket_.get(), lines.data(), lines.size(), MSG_NOSIGNAL,
                           reinterpret_cast<const sockaddr*>(&address), size));
}

}  // namespace fairlead::service
