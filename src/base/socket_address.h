// IP addresses as the kernel's sockets want and give them.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "base/ip_address.h"

namespace fairlead {

// Of either version of IP.
class SocketAddress {
 public:
  SocketAddress(const IpAddress& address, uint16_t port);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_storage storage_ = {};
  socklen_t length_;
};

// Unset for other families than those of IP.
IpAddress IpAddressOf(const sockaddr* address);
// This end of a socket, without its port; unset where it has none.
IpAddress LocalAddressOf(int socket);

}  // namespace fairlead
