// What agents say, in the fabric's words: addresses become NICs and links, and what cannot be meant is named.
//
// Guarantees  an agent speaks of its own host's NICs as sources only. Numbers in what is returned are within the bounds
//             that the path service's sums need.
// Cost        O(log of addresses + hops).
#pragma once

#include <string>

#include "base/ids.h"
#include "controller/host_messages.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "traffic/path_messages.h"

namespace fairlead::controller {

// Empty: it can be one (model/job_identity.h).
std::string FaultOfJobName(const std::string& name);

class AgentWords {
 public:
  // The references must outlive this.
  AgentWords(const topology::Fabric& fabric, const topology::AddressBook& addresses)
      : fabric_(fabric), addresses_(addresses) {}

  bool IsOwn(HostId host, const IpAddress& address) const;

  // All three return what is wrong; empty: nothing, and the translation is set. The rest is the path service's to judge.
  std::string Translate(HostId host, const WantedConnection& wanted, traffic::ConnectionRequest* request) const;
  std::string Translate(HostId host, const HeldConnection& held, traffic::HeldConnection* translated) const;
  std::string Translate(HostId host, const PortScanSeen& seen, traffic::PortScanSeen* translated) const;

 private:
  const topology::Fabric& fabric_;
  const topology::AddressBook& addresses_;
};

}  // namespace fairlead::controller
