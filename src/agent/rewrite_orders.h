// Orders to the kernel to rewrite source ports. What it refuses to clear is tried again: a rule that stays would
// rewrite packets of a later connection.
//
// Cost  O(log n) an order, n: rules that are being cleared.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "agent/agent_outbox.h"
#include "agent/host_agent_messages.h"
#include "base/sim_time.h"

namespace fairlead::agent {

class RewriteOrders {
 public:
  // `outbox` must outlive this.
  explicit RewriteOrders(AgentOutbox* outbox) : outbox_(*outbox) {}

  // The kernel has this rule of the agent before.
  void Inherit(const RewriteRule& rule, uint16_t to_port) { inherited_.emplace(rule, to_port); }
  bool IsInherited(const RewriteRule& rule, uint16_t to_port) const;
  // The kernel rewrites to another port.
  bool IsInheritedOtherwise(const RewriteRule& rule, uint16_t to_port) const;

  // Both return the ticket that RewriteDone will have.
  uint64_t Set(const RewriteRule& rule, uint16_t to_port);
  uint64_t ClearOnce(const RewriteRule& rule);
  // Until the kernel has done it, unless the rule is set again. Args: to_port: what it rewrites to; 0: that is not known.
  void Clear(const RewriteRule& rule, uint16_t to_port = 0);

  // Takes the end of an order of Clear(); those of others do nothing. Returns a rule that stays, as the kernel refuses.
  std::optional<RewriteRule> Finish(const RewriteDone& done);
  // What such a rule rewrites to; it is in use from now on, and not to be cleared. Nothing: it is none, or it is not
  // known what it does, or whether it is still there.
  std::optional<uint16_t> TakeUp(const RewriteRule& rule);
  // Gives those orders again that are due.
  void Repeat();
  SimTime NextDue() const { return failed_.empty() ? SimTime::Never() : failed_.begin()->first; }

 private:
  // Nothing is to be cleared any more.
  void Forget(const RewriteRule& rule);

  AgentOutbox& outbox_;
  uint64_t num_tickets_ = 0;
  std::map<RewriteRule, uint16_t> inherited_;
  std::map<RewriteRule, uint64_t> clears_;  // tickets of those that are under way
  std::map<uint64_t, RewriteRule> by_ticket_;
  std::map<RewriteRule, uint16_t> to_ports_;          // of both, where known
  std::map<RewriteRule, SimTime> again_at_;           // of those that failed
  std::set<std::pair<SimTime, RewriteRule>> failed_;  // the same, by time
};

}  // namespace fairlead::agent
