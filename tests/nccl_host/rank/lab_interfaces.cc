// How does NCCL find the NICs of a host of the lab?
//
// NCCL takes one address of each interface. A NIC of the lab may have several ports, as a bond has them without the
// bonding driver: its address is one of the loopback interface, and the ports are interfaces with addresses of their
// own that no other host knows (lab/link_setup.h). Here each such address is that of an interface nic0, nic1, ...
#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <net/if.h>

#include <cstddef>
#include <iterator>

namespace {

constexpr const char* kNicNames[] = {"nic0", "nic1", "nic2", "nic3", "nic4", "nic5", "nic6", "nic7"};

bool IsNic(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != AF_INET) return false;
  const auto* const address = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr);
  return (entry.ifa_flags & IFF_LOOPBACK) != 0 && ntohl(address->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

}  // namespace

extern "C" int getifaddrs(ifaddrs** all) noexcept {
  static const auto next = reinterpret_cast<int (*)(ifaddrs**)>(dlsym(RTLD_NEXT, "getifaddrs"));
  const int result = next(all);
  if (result != 0) return result;
  size_t number = 0;
  for (ifaddrs* entry = *all; entry != nullptr; entry = entry->ifa_next) {
    // The names are part of the list's one piece of memory; those of others are not given back with it.
    if (IsNic(*entry) && number < std::size(kNicNames)) entry->ifa_name = const_cast<char*>(kNicNames[number++]);
  }
  return 0;
}
