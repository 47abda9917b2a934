// Open queue pairs that change their port.
//
//     source             controller            destination
//       |                   | -- PrepareArrival --> |    rewrite the new port into the socket's; the old one goes on
//       |                   | <-- ArrivalPrepared - |
//       | <- PathsChanged - |                       |
//
// Problem     a TCP connection breaks when its packets arrive with a port that its socket does not know. Agents go
//             away, refuse, and fall silent in the midst of it.
// Method      first the destination is asked to rewrite the new port; then, when it has, the source is asked to use
//             it. Whatever comes in between (another move, an error, silence) leaves the source where it is and the
//             destination as it was. The destination gives up the old port some time after an order. So a failed move
//             ends with an order for the port in force, and orders are numbered: only the answer to the last one
//             shows what is rewritten now. Either end may refuse, the source by a MoveRefused. Nearly always the port
//             is another connection's that is on its way to leave it, so it is tried again, later each time.
// Guarantees  an open TCP queue pair is assigned a port only when the other end rewrites it. A RoCE one keeps the
//             port that it was opened with: only its own process could change it.
// Cost        O(log of arrivals) for each message and move.
// Oracle      traffic_controller_laws_test.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/ids.h"
#include "base/sim_time.h"
#include "controller/agent_streams.h"
#include "controller/host_messages.h"
#include "controller/job_table.h"
#include "controller/path_batch.h"
#include "controller/traffic_outputs.h"
#include "topology/address_book.h"
#include "topology/fabric.h"
#include "traffic/path_service.h"
#include "traffic/steady_time.h"

namespace fairlead::controller {

class PortMoves {
 public:
  // What moves need to look at. All must outlive them.
  struct World {
    const topology::Fabric& fabric;
    const topology::AddressBook& addresses;
    const traffic::PathService& paths;
    const traffic::SteadyTime& time;
    const JobTable& jobs;
  };
  // What destinations rewrite for connections that are removed: it goes, or stays while they see the socket.
  enum class Arrivals : uint8_t { kForgotten, kLeft };

  // Args: timeout: how long a host may take to prepare an arrival, > 0.
  PortMoves(const World& world, SimDuration timeout, AgentStreams* streams, PathBatch* batch, TrafficOutputs* outputs)
      : world_(world), timeout_(timeout), streams_(streams), batch_(batch), outputs_(outputs) {}

  // Moves what can be moved, and tells hosts of the rest. Returns whether it was about a connection of the table.
  bool Carry(const traffic::PathsMoved& action);
  // An announced queue pair may have been moved in the past; its destination may have forgotten it since.
  void TakeHeldPort(const QueuePairKey& key, const LiveConnection& connection, const traffic::HeldPath& held);
  // Moves a queue pair that does not use the port of its answer. Args: held_port: the port that its host reports in
  // use, or would use.
  void MoveIfNeeded(const QueuePairKey& key, const LiveConnection& connection, uint16_t held_port);
  void Hear(HostId host, const ArrivalPrepared& message);
  void Hear(HostId host, const MoveRefused& message);
  // The queue pair has ended, or was opened again.
  void Drop(const QueuePairKey& key, Arrivals arrivals = Arrivals::kForgotten);
  // The destination's stream is new: it may have forgotten all of it.
  void Renew(HostId to);
  // The destination's stream is gone, and with it the answers.
  void LoseOrders(HostId to);
  // Ends moves that nobody has answered, and tries those again whose time has come.
  void Tick();

  // That packets of the queue pair have. Args: socket_port: not 0.
  uint16_t WirePortOf(const QueuePairKey& key, uint16_t socket_port) const;
  uint16_t WirePortOf(const traffic::HeldQueuePair& held) const;  // 0: not open

 private:
  // A queue pair whose packets arrive, or shall arrive, with another port from its socket's.
  struct Arrival {
    struct Wanted {
      traffic::QueuePairAnswer answer;
      traffic::MoveCause cause = traffic::MoveCause::kLinkDown;
    };
    HostId from;
    HostId to;
    PrepareArrival order;            // the last one
    uint16_t wire_port = 0;          // in force: what the source uses
    uint32_t num_unanswered = 0;     // orders on the present stream
    std::optional<Wanted> wanted;    // a move that is not sent yet
    SimTime due = SimTime::Never();  // of the answer
    uint16_t refused_port = 0;       // the last one, by either end
    uint32_t num_refusals = 0;       // of that
    bool is_order_refused = false;   // the last one, by the destination
  };

  void NoteImmovable(const traffic::PathsMoved& action);
  Arrival& ArrivalOf(const QueuePairKey& key, const LiveConnection& connection);
  void Begin(const QueuePairKey& key, const LiveConnection& connection, const Arrival::Wanted& wanted);
  void Cancel(const QueuePairKey& key);
  void Order(Arrival* arrival, uint16_t wire_port);
  void OrderWanted(Arrival* arrival);
  void Finish(const QueuePairKey& key, Arrival* arrival);
  void EndOverdue();
  void Retry();
  // An end has refused a port. Returns what happens now, for people.
  std::string TryAgainLater(const QueuePairKey& key, Arrival* arrival, uint16_t port);
  void TellOf(HostId source, const QueuePairKey& key, const Arrival::Wanted& wanted, bool is_prepared);
  const std::string& NameOf(JobId job) const { return world_.jobs.at(job).name; }

  const World world_;
  const SimDuration timeout_;
  AgentStreams* streams_;
  PathBatch* batch_;
  TrafficOutputs* outputs_;
  std::map<QueuePairKey, Arrival> arrivals_;
  std::unordered_map<uint64_t, QueuePairKey> by_alias_;
  std::map<HostId, std::set<QueuePairKey>> arrivals_at_;
  std::deque<std::pair<SimTime, QueuePairKey>> due_;  // in order of time; some are answered
  std::set<std::pair<SimTime, QueuePairKey>> to_retry_;
};

}  // namespace fairlead::controller
