// A TCP port for somebody who has to be told its number before it is bound: another process, or a later one.
#pragma once

#include <cstdint>

namespace fairlead {

// Free at this moment on all addresses, and below those that the kernel gives to whoever asks for none
// (net.ipv4.ip_local_port_range, 32768 and up unless it was changed): only who asks for this very number can take it.
// Each call gives the next one that is free, and each process begins elsewhere, by its number. 0: there is none.
// Cost: a socket. Thread: any.
uint16_t FindFreePort();

}  // namespace fairlead
