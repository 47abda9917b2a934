// What an agent keeps over its own end, so that the next one knows of the connections that lived on.
//
// Format      a line "fairlead-agent-state VERSION CHECKSUM", then JSON. The checksum is of the JSON.
// Guarantees  what was written is read back as it was; a file that is cut, changed or of another version is an error,
//             never a wrong state.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/status.h"
#include "controller/host_messages.h"

namespace fairlead::agent {

inline constexpr int kStateVersion = 1;

struct KeptConnection {
  std::string job;
  controller::WantedConnection wanted;
  uint64_t inode = 0;  // of its socket; 0: a queue pair
  uint16_t socket_port = 0;
  uint16_t wire_port = 0;  // what packets carry: the socket's, unless they are rewritten
  bool is_answered = false;
  traffic::QueuePairAnswer answer;  // the latest; default where there is none

  friend bool operator==(const KeptConnection&, const KeptConnection&) = default;
};

// Rewriting of what arrives for one socket here.
struct KeptAlias {
  uint64_t alias = 0;
  IpAddress source;
  IpAddress destination;  // here
  uint16_t destination_port = 0;
  uint16_t socket_port = 0;
  std::vector<uint16_t> wire_ports;  // the latest is last

  friend bool operator==(const KeptAlias&, const KeptAlias&) = default;
};

// An accepted connection: it has a class, and nothing else.
struct KeptAccepted {
  std::string job;
  int32_t pid = 0;
  uint64_t inode = 0;
  bool is_ipv6 = false;

  friend bool operator==(const KeptAccepted&, const KeptAccepted&) = default;
};

// A source port that packets had on the wire, of a connection that has ended or moved.
struct KeptRest {
  uint64_t connection = 0;
  IpAddress source;
  IpAddress destination;
  uint16_t destination_port = 0;
  uint16_t port = 0;

  friend bool operator==(const KeptRest&, const KeptRest&) = default;
};

struct AgentState {
  std::vector<KeptConnection> connections;
  std::vector<KeptAlias> aliases;
  std::vector<KeptAccepted> accepted;
  std::vector<KeptRest> rests;             // that no other connection to the same place may have yet
  std::map<std::string, uint32_t> levels;  // of jobs, as last reported; 0 = first

  friend bool operator==(const AgentState&, const AgentState&) = default;
};

std::string WriteAgentState(const AgentState& state);
// The first line of the format, before any body.
std::string SealAgentState(std::string_view json);
// Errors: kDataLoss  damaged; kFailedPrecondition  of another version. The message says where, and what is wrong.
Result<AgentState> ReadAgentState(std::string_view text, const std::string& where);

}  // namespace fairlead::agent
