#include "ccl/steer/socket_address.h"

#include <arpa/inet.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fairlead::ccl {
namespace {

constexpr uint8_t kIpv4Prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool IsIpv4(const shm::SteeringAddress& address) {
  return memcmp(address.bytes, kIpv4Prefix, sizeof(kIpv4Prefix)) == 0;
}

// Whether the bytes can be read. The call looks at eight of them and then refuses its first argument.
bool IsReadable(const char* bytes) {
  return syscall(SYS_rt_sigprocmask, ~0, bytes, nullptr, 8) == 0 || errno != EFAULT;
}

// As the kernel copies from a caller: false, not a signal, where the memory is not there.
bool CopyFrom(const void* from, size_t length, void* to) {
  iovec here = {to, length}, there = {const_cast<void*>(from), length};
  const long count = syscall(SYS_process_vm_readv, getpid(), &here, 1ul, &there, 1ul, 0ul);
  if (count >= 0) return count == static_cast<long>(length);
  if (errno == EFAULT) return false;
  // Some containers forbid it.
  const char* bytes = static_cast<const char*>(from);
  for (size_t at = 0; at + 8 < length; at += 8) {
    if (!IsReadable(bytes + at)) return false;
  }
  if (!IsReadable(bytes + length - 8)) return false;
  memcpy(to, from, length);
  return true;
}

}  // namespace

bool Endpoint::is_ipv4() const { return IsIpv4(address); }

bool Endpoint::is_any() const {
  static constexpr uint8_t kZero[16] = {};
  const size_t first = is_ipv4() ? sizeof(kIpv4Prefix) : 0;
  return memcmp(address.bytes + first, kZero, sizeof(kZero) - first) == 0;
}

Endpoint EndpointOf(const sockaddr* address, socklen_t length) {
  Endpoint endpoint;
  if (address == nullptr || length < sizeof(sa_family_t)) return endpoint;
  if (address->sa_family == AF_INET && length >= sizeof(sockaddr_in)) {
    sockaddr_in ipv4;
    memcpy(&ipv4, address, sizeof(ipv4));
    memcpy(endpoint.address.bytes, kIpv4Prefix, sizeof(kIpv4Prefix));
    memcpy(endpoint.address.bytes + sizeof(kIpv4Prefix), &ipv4.sin_addr, sizeof(ipv4.sin_addr));
    endpoint.port = ntohs(ipv4.sin_port);
    endpoint.is_known = true;
  } else if (address->sa_family == AF_INET6 && length >= sizeof(sockaddr_in6)) {
    sockaddr_in6 ipv6;
    memcpy(&ipv6, address, sizeof(ipv6));
    memcpy(endpoint.address.bytes, &ipv6.sin6_addr, sizeof(ipv6.sin6_addr));
    endpoint.port = ntohs(ipv6.sin6_port);
    endpoint.is_known = true;
  }
  return endpoint;
}

Endpoint EndpointAt(const sockaddr* address, socklen_t length) {
  sockaddr_storage storage = {};
  // The kernel refuses longer ones. Those of other families may be shorter than what is of interest here.
  if (address == nullptr || length < sizeof(sockaddr_in) || length > sizeof(storage)) return {};
  return CopyFrom(address, length, &storage) ? EndpointOf(reinterpret_cast<const sockaddr*>(&storage), length)
                                             : Endpoint();
}

Endpoint LocalEndpoint(int socket) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  return EndpointOf(reinterpret_cast<const sockaddr*>(&storage), length);
}

socklen_t MakeAddress(const shm::SteeringAddress& address, uint16_t port, int family, sockaddr_storage* storage) {
  *storage = {};
  if (family == AF_INET) {
    if (!IsIpv4(address)) return 0;
    sockaddr_in ipv4 = {};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    memcpy(&ipv4.sin_addr, address.bytes + sizeof(kIpv4Prefix), sizeof(ipv4.sin_addr));
    memcpy(storage, &ipv4, sizeof(ipv4));
    return sizeof(ipv4);
  }
  sockaddr_in6 ipv6 = {};
  ipv6.sin6_family = AF_INET6;
  ipv6.sin6_port = htons(port);
  memcpy(&ipv6.sin6_addr, address.bytes, sizeof(ipv6.sin6_addr));
  memcpy(storage, &ipv6, sizeof(ipv6));
  return sizeof(ipv6);
}

}  // namespace fairlead::ccl
