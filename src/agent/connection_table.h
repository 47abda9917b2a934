// Connections that were opened on this host, with what is kept of each and how far it has come.
//
//     number -> connection             Add --> kOpening -------------> kOpen
//     job -> its numbers                          |                      ^
//     process and inode -> number                 +----> kUnclear -------+
//                                                 |          |           |
//                                                 +----------+-----------+--> Remove
//
// Problem     processes, the controller and the kernel name a connection differently: by its socket, by its number, by
//             its ends. Inodes and ports are used again, numbers must not be: what was meant for one connection would
//             reach another.
// Method      a connection has a number of 53 random bits (what JSON carries whole), unlike all others here; job and
//             number name it among all hosts: a million connections of one job meet with a chance of 6e-5. The table is
//             changed by its own functions only, and each change of what is kept raises the state's revision.
// Guarantees  a job is in jobs() while it has connections, and each of its numbers is in connections(). A socket leads
//             to the last connection that was added with it, while that is there. Same seed, same numbers.
// Cost        O(log of connections and jobs) for each call; State(), OpenSockets(), NumAnsweredJobs(): O(connections).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/agent_outbox.h"
#include "agent/agent_state.h"
#include "agent/host_agent_messages.h"
#include "base/random.h"
#include "base/sim_time.h"

namespace fairlead::agent {

class ConnectionTable {
 public:
  struct Connection {
    enum class Stage : uint8_t {
      kOpening,  // its process waits for the answer, or has it and connects
      kUnclear,  // its process has gone without a message: its socket will show when it ends
      kOpen,
    };
    KeptConnection kept;
    Stage stage = Stage::kOpening;
    SimTime since;  // of the stage

    uint64_t number() const { return kept.wanted.connection; }
    bool is_tcp() const { return kept.wanted.protocol == 6; }  // else a queue pair of RoCE, which has no socket
    bool has_open_socket() const { return stage == Stage::kOpen && kept.inode != 0; }
  };

  // `outbox` must outlive this. Args: num_max: more are not looked after; random_seed: another one each time.
  ConnectionTable(size_t num_max, uint64_t random_seed, AgentOutbox* outbox)
      : num_max_(num_max), random_(random_seed), outbox_(*outbox) {}

  // What the agent before kept, into an empty table; of equal numbers the first.
  void Restore(std::span<const KeptConnection> kept);
  // Those that are open.
  std::vector<KeptConnection> State() const;

  // Returns it, with a number of its own. Args: kept: without a number; the table is not full.
  const Connection& Add(KeptConnection kept);
  // Args of these: a number of the table.
  void Open(uint64_t number, uint16_t socket_port);
  void SetUnclear(uint64_t number);
  // Returns whether it is the first one. Args: plan: the controller's latest.
  bool SetPlan(uint64_t number, const traffic::QueuePairAnswer& plan);
  void SetWirePort(uint64_t number, uint16_t port);
  void Remove(uint64_t number);

  const Connection* Find(uint64_t number) const;  // null: there is none
  const Connection& at(uint64_t number) const { return connections_.at(number); }
  const Connection* FindSocket(int32_t pid, uint64_t inode) const;  // likewise
  const std::map<uint64_t, Connection>& connections() const { return connections_; }
  const std::map<std::string, std::set<uint64_t>>& jobs() const { return jobs_; }  // with connections, and which
  size_t size() const { return connections_.size(); }
  bool is_full() const { return connections_.size() >= num_max_; }
  // Jobs of which the controller knows something here.
  uint32_t NumAnsweredJobs() const;
  std::vector<SocketPair> OpenSockets() const;

 private:
  uint64_t NewNumber();

  const size_t num_max_;
  Random random_;
  AgentOutbox& outbox_;
  std::map<uint64_t, Connection> connections_;
  std::map<std::string, std::set<uint64_t>> jobs_;
  std::map<std::pair<int32_t, uint64_t>, uint64_t> by_socket_;  // process and inode -> connection
};

// As its own socket has them.
inline SocketPair EndsOf(const KeptConnection& kept) {
  return {.local = kept.wanted.source,
          .remote = kept.wanted.destination,
          .local_port = kept.socket_port,
          .remote_port = kept.wanted.destination_port};
}

}  // namespace fairlead::agent
