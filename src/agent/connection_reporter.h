// Reports to the controller about connections of this host: which want a path, are open, are held, have closed.
//
//     PathsWanted --> (the controller's first plan) --> ConnectionOpened --> ConnectionsClosed
//     asked for what it holds: ConnectionsHeld of each job --> AnnouncementFinished --> PathsWanted, of the rest
//
// Problem     the controller may be away, forget, or ask on a new stream; the agent may be killed at any time, and the
//             next one knows the kept state only. What was said must be true of that, too.
// Method      on each stream a path is asked for once for each connection that has no plan: at once, or with the next
//             heartbeat or announcement. An open connection is reported when the state that has it is kept: what the
//             controller knows, the next agent knows. Jobs that ended while it was away are told after its welcome.
// Guarantees  no connection is reported open before its first plan: the controller does not know it before, and accepts
//             no message about it. Of an open one only a port in force is announced. No list of closed connections is
//             empty by accident (which would close all of the job).
// Cost        O(log of connections) for each; AskAgain() and Announce(): O(connections).
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/connection_table.h"

namespace fairlead::agent {

class ConnectionReporter {
 public:
  using Connection = ConnectionTable::Connection;

  // The pointers must outlive this. Args: keeps_state: TakeKept() follows each new revision of the state.
  ConnectionReporter(bool keeps_state, const ConnectionTable* connections, AgentOutbox* outbox)
      : keeps_state_(keeps_state), connections_(*connections), outbox_(*outbox) {}

  // A new connection of the table needs a path.
  void Ask(const Connection& connection);
  // For connections that have no plan, and for which nothing was asked on this stream.
  void AskAgain();
  // It is open now, or has its first plan: at once, or when the state is kept that has it.
  void ReportOpened(const Connection& connection);
  // The state is kept as it was at this revision.
  void TakeKept(uint64_t revision);
  // Everything that the controller has, or should have, been told.
  void Announce();
  // The connection is gone.
  void Forget(uint64_t connection) { asked_.erase(connection); }
  // Args: connections: not empty.
  void ReportClosed(const std::string& job, std::vector<uint64_t> connections);
  // The last connection of the job is gone, while the controller is away.
  void KeepEnded(const std::string& job) { ended_away_.insert(job); }
  // It has welcomed this agent.
  void ReportEnded();
  // The stream has ended: the controller may have forgotten what it was asked for.
  void ForgetStream() { asked_.clear(); }

 private:
  void Announce(const std::string& job, const std::set<uint64_t>& numbers);
  void SendOpened(const Connection& connection);

  const bool keeps_state_;
  const ConnectionTable& connections_;
  AgentOutbox& outbox_;
  uint64_t num_requests_ = 0;
  std::unordered_set<uint64_t> asked_;                // connections, on this stream
  std::set<std::string> ended_away_;                  // jobs
  std::deque<std::pair<uint64_t, uint64_t>> unsent_;  // open ones: revision that has it, and connection
};

}  // namespace fairlead::agent
