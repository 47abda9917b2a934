// The destination's half of a moved connection: which ports of packets that arrive here become the port that the socket
// knows.
//
// Method      the controller prepares an arrival before it moves the source, and hears when the kernel rewrites it;
//             answers have the order of its messages. An arrival's older ports stay while its connection lives, but for
//             the oldest of many: the source need not have heard that it moves, and nothing shows when it has.
// Guarantees  packets of a port go to the connection that it was given to last. A rule that is in force is never
//             forgotten: it is cleared, or kept.
// Cost        a message: O(log n), n: arrivals; a look at all sockets: O(n log n).
// Reference   docs/spec/c4.md, section 9.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/agent_state.h"
#include "agent/host_agent_messages.h"
#include "agent/rewrite_orders.h"

namespace fairlead::agent {

struct ArrivalTableOptions {
  std::vector<IpAddress> nics;  // training NICs of this host
  SimDuration linger;           // how long the oldest of too many ports stays
  uint32_t num_max = 65'536;
};

class ArrivalTable {
 public:
  using Sockets = std::map<SocketPair, uint64_t>;  // of this host, and their inodes

  // The last two must outlive this.
  ArrivalTable(ArrivalTableOptions options, AgentOutbox* outbox, RewriteOrders* orders);
  // What the agent before kept; orders have inherited what the kernel rewrites.
  void Restore(std::span<const KeptAlias> kept);
  std::vector<KeptAlias> State() const;

  // Args: sockets: as last seen.
  void Prepare(const controller::PrepareArrival& message, const Sockets& sockets);
  // The source may still rewrite, if its agent has lost what it knew of the connection, or has not seen yet that the one
  // before it is gone: so it stays while a look shows the socket.
  void Forget(const controller::ForgetArrival& message);
  // Returns whether the ticket was of an arrival.
  bool Finish(const RewriteDone& done);
  // Args: asked_at: sockets that were opened before are not missing.
  void Look(SimTime asked_at, const Sockets& sockets);
  // The next stream is asked again, and counts the answers to its own orders.
  void ForgetAnswers() { answers_.clear(); }

  void DropOldPorts();
  SimTime NextDue() const { return next_drop_; }  // at the earliest
  size_t size() const { return arrivals_.size(); }

 private:
  struct Arrival {
    KeptAlias kept;
    std::map<uint16_t, SimTime> old_ports = {};  // wire ports of before, and until when they stay
    SimTime seen_at;                    // its socket, by this agent; without one: when it was prepared, or forgotten
    bool was_seen = false;              // or is forgotten: gone with the next look that has no socket
    std::set<uint16_t> installed = {};  // wire ports that the kernel rewrites, as far as it has said
  };
  struct Answer {
    uint64_t ticket = 0;
    std::optional<std::string> error;  // nothing: not done yet
  };
  struct Order {
    uint64_t number = 0;  // of the arrival
    uint16_t wire_port = 0;
  };

  // Empty: none.
  std::string ObjectionTo(const controller::PrepareArrival& message, const Sockets& sockets) const;
  // The one with this number, with its port the latest.
  Arrival& Renew(const controller::PrepareArrival& message);
  // Packets of a port belong to whom it was given last.
  void TakeOver(const RewriteRule& rule, uint64_t number, uint16_t wire_port);
  // Ticket 0: at once. `error` is empty when it is done.
  void Reply(uint64_t number, uint64_t ticket, const std::string& error);
  void TakeFailure(uint64_t number, Arrival* arrival, uint16_t wire_port);
  void ClearPort(Arrival* arrival, uint16_t wire_port);
  void Drop(uint64_t number);

  ArrivalTableOptions options_;
  AgentOutbox& outbox_;
  RewriteOrders& orders_;
  std::map<uint64_t, Arrival> arrivals_;
  std::map<RewriteRule, uint64_t> by_rule_;
  std::map<uint64_t, std::deque<Answer>> answers_;  // that are not reported yet, by arrival
  std::map<uint64_t, Order> by_ticket_;
  SimTime next_drop_ = SimTime::Never();
};

}  // namespace fairlead::agent
