#include "base/free_port.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

#include "base/descriptor.h"

namespace fairlead {
namespace {

constexpr uint32_t kFirst = 10'000;
constexpr uint32_t kLast = 32'767;
// Far enough apart that processes which come one after the other don't meet.
constexpr uint32_t kPortsOfProcess = 64;

bool IsFree(uint16_t port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(port);
  return bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

}  // namespace

uint16_t FindFreePort() {
  static std::atomic<uint32_t> next = static_cast<uint32_t>(getpid()) * kPortsOfProcess;
  constexpr uint32_t kNumPorts = kLast - kFirst + 1;
  for (uint32_t i = 0; i < kNumPorts; ++i) {
    const auto port = static_cast<uint16_t>(kFirst + next++ % kNumPorts);
    if (IsFree(port)) return port;
  }
  return 0;
}

}  // namespace fairlead
