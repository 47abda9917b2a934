// What an agent writes to the kernel's tables, on a thread of its own: rules that rewrite ports (port_rewriter.h), and
// classes of sockets.
//
// A host that can't rewrite says so once; then every rule is refused, and clearing one is done.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/host_agent_messages.h"
#include "base/sim_time.h"
#include "service/agent/once_log.h"
#include "service/agent/port_rewriter.h"
#include "service/agent/worker_thread.h"

namespace fairlead::service {

class KernelWorker {
 public:
  // Args: rewrites_ports: false: this agent does not; log: not empty. All pointers outlive it.
  KernelWorker(bool rewrites_ports, std::function<void(const std::string&)> log, OnceLog* once, EventInbox* inbox);

  // What the kernel rewrote when this began.
  std::map<agent::RewriteRule, uint16_t> InstalledRules() const;

  // Both wait for Flush(). Args: to_port: 0: there is no rule any more.
  void Order(uint64_t ticket, const agent::RewriteRule& rule, uint16_t to_port);
  void SetClass(const agent::SetSocketClass& action) { classes_.push_back(action); }
  // Gives all that waits to the thread; what comes of rules is a RewriteDone each.
  void Flush();
  // Now and then: rules of the agent before that its state does not know live as long as their connection.
  void ClearOrphans(SimTime now, const agent::SocketsSeen& seen);
  // Ends the thread's work, and leaves rules that are in use to the next agent.
  void Close();

  // Departures that were ordered to be rewritten.
  uint64_t num_moves() const { return num_moves_; }

 private:
  struct Rewrite {
    uint64_t ticket = 0;
    PortRewriter::Change change;
  };

  std::optional<PortRewriter> Open(bool rewrites_ports);
  void FlushRules();
  void FlushClasses();

  const std::function<void(const std::string&)> log_;
  OnceLog& once_;
  EventInbox& inbox_;
  std::string no_rewriter_because_;
  std::optional<PortRewriter> rewriter_;  // of the thread, once it runs
  std::vector<Rewrite> rules_;
  std::vector<agent::SetSocketClass> classes_;
  SimTime next_orphan_look_;
  uint64_t num_moves_ = 0;
  WorkerThread thread_;  // last: it ends before what it uses
};

}  // namespace fairlead::service
