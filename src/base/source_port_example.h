// For tests: a source port for a connection that a process is asked to make.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "base/descriptor.h"

namespace fairlead {

// A port on which nothing listens now, and which the kernel gives to no process that does not request it by number. One
// that is asked for by IP_LOCAL_PORT_RANGE has to be among those that the kernel gives away itself (base/free_port.h
// has the others). It gives odd ones to sockets that are bound to none, and even ones to connections, which may share
// them.
inline uint16_t FindSourcePort() {
  constexpr uint32_t kFirst = 32'768;
  constexpr uint32_t kNumEven = 14'000;
  static std::atomic<uint32_t> next = static_cast<uint32_t>(getpid()) * 64;
  for (uint32_t i = 0; i < kNumEven; ++i) {
    const auto port = static_cast<uint16_t>(kFirst + 2 * (next++ % kNumEven));
    const Descriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return port;
  }
  FL_CHECK_MSG(false, "all ports are taken");
  return 0;
}

}  // namespace fairlead
