// The addresses of sockets in the form of steering questions.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>

#include "shm/steering_messages.h"

namespace fairlead::ccl {

struct Endpoint {
  shm::SteeringAddress address = {};
  uint16_t port = 0;      // host byte order
  bool is_known = false;  // IPv4 or IPv6, and long enough

  // IPv4, plain or inside of an IPv6 socket.
  bool is_ipv4() const;
  // 0.0.0.0 or ::, what an unbound socket has.
  bool is_any() const;
};

// Reads no more than `length` bytes.
Endpoint EndpointOf(const sockaddr* address, socklen_t length);
// The same of an address that a caller has given to the kernel, which answers EFAULT to a pointer that leads nowhere:
// not known then.
Endpoint EndpointAt(const sockaddr* address, socklen_t length);
// The end of the socket on this host; not known when the kernel does not tell.
Endpoint LocalEndpoint(int socket);

// Returns the length of the address that `storage` holds then, for sockets of `family` (AF_INET or AF_INET6); 0 where
// such sockets can't have it.
socklen_t MakeAddress(const shm::SteeringAddress& address, uint16_t port, int family, sockaddr_storage* storage);

}  // namespace fairlead::ccl
