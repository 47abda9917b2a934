#include "base/socket_address.h"

#include <netinet/in.h>

#include <array>
#include <cstring>

namespace fairlead {

SocketAddress::SocketAddress(const IpAddress& address, uint16_t port) {
  if (address.is_ipv4()) {
    sockaddr_in ipv4 = {};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    ipv4.sin_addr.s_addr = htonl(address.ipv4());
    std::memcpy(&storage_, &ipv4, sizeof(ipv4));
    length_ = sizeof(ipv4);
  } else {
    sockaddr_in6 ipv6 = {};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    std::memcpy(&ipv6.sin6_addr, address.bytes().data(), address.bytes().size());
    std::memcpy(&storage_, &ipv6, sizeof(ipv6));
    length_ = sizeof(ipv6);
  }
}

IpAddress IpAddressOf(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    sockaddr_in ipv4;
    std::memcpy(&ipv4, address, sizeof(ipv4));
    return IpAddress::FromIpv4(ntohl(ipv4.sin_addr.s_addr));
  }
  if (address->sa_family != AF_INET6) return IpAddress();
  sockaddr_in6 ipv6;
  std::memcpy(&ipv6, address, sizeof(ipv6));
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &ipv6.sin6_addr, bytes.size());
  return IpAddress(bytes);
}

IpAddress LocalAddressOf(int socket) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return IpAddress();
  return IpAddressOf(reinterpret_cast<const sockaddr*>(&storage));
}

}  // namespace fairlead
