// The source's half of a moved connection: which port its packets get after the socket.
//
//     Move --> SetRewrite, or ClearRewrite where it goes back --> RewriteDone --> the wire shows the new port
//       |                                                              |
//       +--> MoveRefused, with the port that stays in force <----------+
//
// Problem     a port on the wire belongs to one connection between two places: packets of another one with it would
//             reach the wrong socket. The kernel is slow, may refuse, and outlives the agent; destinations rewrite a
//             port for a while after the source has left it.
// Method      each connection has one move under way at most; a newer one takes its place, and what becomes of the
//             older order is not looked at. A port that was on the wire, or whose destination is prepared for it, rests
//             when it is left (resting_ports.h).
// Guarantees  a connection is moved to a port only if no packets of another one to the same place carry it, will when a
//             move is done, or did a short time ago. The last move of a connection ends in force, or is refused with
//             the port that is. Of what the kernel rewrites nothing is forgotten: rules of connections that are not
//             known, or gone, are cleared.
// Cost        a move: O(connections); the end of one: O(log of moves).
// Reference   docs/spec/c4.md, section 9. The destination's half: arrival_table.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/agent_state.h"
#include "agent/connection_table.h"
#include "agent/host_agent_messages.h"
#include "agent/resting_ports.h"
#include "agent/rewrite_orders.h"
#include "base/sim_time.h"

namespace fairlead::agent {

struct DepartureMovesOptions {
  SimDuration port_rest;  // how long a port is given to no other connection to the same place
  size_t num_rests_max = 65'536;
};

class DepartureMoves {
 public:
  using Connection = ConnectionTable::Connection;

  // The pointers must outlive this.
  DepartureMoves(const DepartureMovesOptions& options, ConnectionTable* connections, RewriteOrders* orders,
                 AgentOutbox* outbox)
      : connections_(*connections),
        orders_(*orders),
        outbox_(*outbox),
        resting_(options.port_rest, options.num_rests_max) {}

  // Takes up what the kernel does for the agent before, once the table has what that kept. Args: rests: as kept;
  // installed: the kernel's rules, those of arrivals are passed over.
  void Restore(const std::vector<KeptRest>& rests, const std::map<RewriteRule, uint16_t>& installed);
  std::vector<KeptRest> State() const { return resting_.State(); }

  // Another connection's packets to the same place carry this port, or did a short time ago.
  bool IsPortTaken(const Connection& connection, uint16_t port) const;
  // Does nothing where it has the port already, or will. Args of these: connection: of the table; port: not 0.
  void Move(const Connection& connection, uint16_t port);
  void Refuse(const Connection& connection, uint16_t port, const std::string& why);
  // Returns whether the ticket was of a move that is under way.
  bool Finish(const RewriteDone& done);
  // The connection is open now, or the rule stays, as the kernel refuses to clear it: a rule of an earlier connection
  // between the same ports is the connection's own then, and its packets have that port. Returns whether that is so.
  bool TakeUp(const Connection& connection);
  // Returns the connection, or nullptr.
  const Connection* TakeUp(const RewriteRule& rule);
  // The connection is about to leave the table.
  void Close(const Connection& connection);
  void EndRests();

 private:
  struct UnderWay {
    uint64_t ticket = 0;
    uint16_t port = 0;
  };

  // No other connection to the same place gets this port for a while.
  void RestPort(const Connection& connection, uint16_t port);

  ConnectionTable& connections_;
  RewriteOrders& orders_;
  AgentOutbox& outbox_;
  std::map<uint64_t, UnderWay> moves_;      // under way, by connection
  std::map<uint64_t, uint64_t> by_ticket_;  // connection
  RestingPorts resting_;
};

}  // namespace fairlead::agent
