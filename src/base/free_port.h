// A TCP port for a process that needs its number before it is bound: another one, or one started later.
#pragma once

#include <cstdint>

namespace fairlead {

// Free at this moment on all addresses, and below those that the kernel assigns when none is requested
// (net.ipv4.ip_local_port_range, 32768 and up unless it was changed): only a request for exactly this number can take
// it. Each call gives the next one that is free, and each process begins elsewhere, by its number. 0: there is none.
// Cost: a socket. Thread: any.
uint16_t FindFreePort();

}  // namespace fairlead
