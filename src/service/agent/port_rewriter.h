// Moves an established TCP connection: its packets carry another source port between the two hosts, and so take another
// path, while both sockets keep theirs.
//
//     socket 50001 -> [departure: becomes 50009] -> route, NIC, fabric -> [arrival: becomes 50001] -> socket
//
// Method      a table of nftables, "fairlead_agent", with one map for each direction and version of IP, addresses and
//             ports -> new port: a look-up per packet, whatever the number of rules; stateless, checksums are the
//             kernel's. The kernel chooses the way out before this happens, so packets that are rewritten are marked
//             for a moment, for which a chain of type "route" looks the way up again; an ip rule that looks at ports,
//             and leads nowhere new, makes that look-up see them. A destination that knows no connection for a packet
//             resets the port on the wire; that gets the socket's port again, or the socket would never hear that its
//             peer has gone. Each batch of changes is one run of `nft`, whole or
//             not at all.
// Guarantees  the table outlives the agent: connections go on after kill -9, and the next agent takes it over as it is.
//             A port that is on the wire is bound here meanwhile, so that the kernel does not choose it for another
//             socket.
// Cost        a batch: some 20 ms and 0.03 ms for each rule. Blocks.
// Limits      ICMP errors about rewritten packets do not find their socket (path MTU). Needs CAP_NET_ADMIN in the
//             network namespace, and nft.
// Oracle      port_rewriter_test: a transfer between two namespaces, moved 19 times.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/descriptor.h"
#include "base/status.h"

namespace fairlead::service {

class PortRewriter {
 public:
  // Takes over the table of the agent before, or makes one.
  // Errors: kFailedPrecondition: no right, no nft, or a kernel without what it needs; says which.
  static Result<PortRewriter> Open();

  struct Change {
    agent::RewriteRule rule;
    uint16_t to_port = 0;  // 0: no longer rewritten
  };
  // All of them or, on an error, none; of two changes of a rule the later one counts.
  Status Apply(std::span<const Change> changes);
  // Clears rules that were not set since Open() and belong to no connection of `alive`.
  Status ClearOrphans(const std::set<agent::SocketPair>& alive);
  // Departures end at once, which is always safe; the table goes too when no arrivals are left in it.
  // Returns whether it is gone.
  Result<bool> Close();

  // As the kernel has them, and to which port.
  const std::map<agent::RewriteRule, uint16_t>& rules() const { return rules_; }
  size_t num_orphans() const { return orphans_.size(); }

 private:
  PortRewriter() = default;
  Status ReadTable();
  Status MendReturns();
  void Guard(const agent::RewriteRule& rule, uint16_t port);

  std::map<agent::RewriteRule, uint16_t> rules_;
  std::map<agent::RewriteRule, uint16_t> returns_;  // of departures, from the port on the wire to the socket's
  std::set<agent::RewriteRule> orphans_;            // of rules_
  std::map<agent::RewriteRule, Descriptor> guards_;
};

}  // namespace fairlead::service
