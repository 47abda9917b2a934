// What an agent does with the rules of its kernel, as service/agent/port_rewriter.h does it: in order, some time later,
// unless the kernel refuses. Rules of the agent before live as long as their connection, where this one has not set
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "agent/host_agent_messages.h"
#include "base/ids.h"
#include "base/random.h"
#include "sim/hosts/event_queue.h"
#include "sim/hosts/sabotage.h"
#include "sim/hosts/virtual_kernel.h"
#include "sim/hosts/virtual_network.h"
#include "sim/hosts/virtual_process.h"

namespace fairlead::sim::hosts {

class VirtualRewriter {
 public:
  struct Surroundings {
    EventQueue* queue = nullptr;
    const VirtualNetwork* network = nullptr;
    VirtualKernel* kernel = nullptr;
    VirtualProcess* process = nullptr;
    Random* random = nullptr;
    Sabotage sabotage = Sabotage::kNone;
    std::function<void()> rules_changed;
  };
  // Args: error: "" where it is done.
  using Done = std::function<void(const std::string& error)>;

  VirtualRewriter(HostId host, Surroundings surroundings) : host_(host), surroundings_(std::move(surroundings)) {}

  // The process has started. Returns the rules that the kernel has.
  std::map<agent::RewriteRule, uint16_t> Start();
  void SetRefuses(bool refuses);
  // Whether the kernel may still rewrite for an earlier connection what a socket sends that was opened then: it has
  // refused to stop, and nobody could do anything about it.
  bool MayHaveStaleRules(SimTime opened_at) const;

  // Runs `work` of this process later, in order, unless it has been killed.
  void OnKernel(std::function<void()> work);
  // Args: to_port: 0: there is no rule any more.
  void Order(const agent::RewriteRule& rule, uint16_t to_port, Done done);
  // Now and then: clears rules of the agent before whose connection is gone.
  void ClearOrphans();

 private:
  void Set(const agent::RewriteRule& rule, uint16_t to_port);
  void ForgetOlder(const agent::RewriteRule& rule, uint16_t to_port);
  EventQueue& queue() const { return *surroundings_.queue; }
  VirtualKernel& kernel() { return *surroundings_.kernel; }

  const HostId host_;
  const Surroundings surroundings_;
  SimTime free_at_;
  bool refuses_ = false;
  SimTime refuses_since_ = SimTime::Never();  // the latest time
  SimTime refused_until_;
  std::set<agent::RewriteRule> orphans_;  // rules of earlier processes that this one has not set
  SimTime orphan_look_at_;
};

}  // namespace fairlead::sim::hosts
