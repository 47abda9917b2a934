// Where controller and agents meet: a UNIX socket or an address and port, and whether plaintext is fit for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/status.h"

namespace fairlead::service {

struct Endpoint {
  std::string path;   // of a UNIX socket, at most 107 bytes; empty: host and port count
  std::string host;   // "10.0.0.1", "fd00::1" (without brackets), "controller.cluster"
  uint16_t port = 0;  // 0: any free one, where something listens

  bool is_unix() const { return !path.empty(); }
  // Whether messages stay on this machine: a UNIX socket, 127.0.0.0/8, ::1 or "localhost".
  bool is_local() const;
  // "unix:/run/fairlead.sock", "10.0.0.1:7070", "[fd00::1]:7070".
  std::string ToString() const;
};

// Reads what ToString() writes. Errors: kInvalidArgument: what was expected and found.
Result<Endpoint> ParseEndpoint(std::string_view text);

// Whether a server could listen there, found out by trying: libraries tell too little of why not. Errors:
// kFailedPrecondition: in use, no such address, no right to it: says which. Races with others are the caller's.
Status CheckCanListen(const Endpoint& endpoint);

// A socket that listens there, does not block, and takes no address from another one. Args: endpoint: host and port,
// whose port is then as it is. Errors: as CheckCanListen().
Result<Descriptor> ListenAt(Endpoint* endpoint);

}  // namespace fairlead::service
