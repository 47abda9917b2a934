// Simulates the messages of one operation: when each is filled, handed to the network, completed and taken, for every
// connection, and so when each rank is through.
//
// Problem     given the instants at which the ranks' kernels start an operation, and a pattern of transfers, find all
//             instants of all messages, under NCCL's flow control, in which the receiver posts a buffer first.
// Notation    message k of edge i -> j; S = kSlots buffers; lag as in transfer_pattern
//               posted(k)  = max(start_i, done(k - S))                    a slot is free at the sender
//               filled(k)  = max(posted(k), arrived(k - lag) of inputs, filled(k - 1) + copying time)
//               clear(k)   = max(start_j, taken(k - S))                    the receiver has posted a buffer
//               sent(k)    = max(filled(k), clear(k))                      handed to the network
//               done(k)    = max(sent(k), free wire) + bytes / rate + latency
//               arrived(k) = done(k) + flush;  taken(k) = when the stage that needs it has it and its own free slots
//             An edge's wire is free one latency before its last message is done. rate: that of the NIC's port, shared
//             evenly by all edges of the operation that use it in that direction.
// Method      one pass over k, stages in the order of the pattern: a max-plus recursion. Instants may be never: what
//             waits for a dead rank then waits forever, and its phase shows for which. Only the last S messages are
//             kept.
// Cost        O(messages) time, O(edges) space. See BM_Run.
// Guarantees  every message sent is received; all instants of a message ascend; same input and seed, same output.
// Differs     NCCL ends a kernel when its last buffer is filled; here an operation has finished on a rank when its last
//             message in either direction is done, so that an operation with a stuck message is not finished.
// Reference   NCCL 2.2x, src/transport/net.cc; docs/spec/c4.md section 3.1.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.h"
#include "execution/connection_account.h"
#include "execution/fault_effects.h"
#include "execution/noise.h"
#include "execution/transfer_pattern.h"

namespace fairlead::execution {

// Buffers of a connection (NCCL_STEPS).
inline constexpr uint32_t kSlots = 8;

// One edge of a route: a connection between two ranks.
struct Connection {
  NetworkPath path;
  bool is_network = false;  // false: NVLink, which leaves no messages in the telemetry
  double ns_per_byte = 0;
  Instant latency = 0;
  Instant flush = 0;
  std::vector<FaultIndex> faults;  // that can touch it
  uint32_t send_account = 0;       // into the simulator's accounts; of network connections
  uint32_t receive_account = 0;
};

// A pattern laid over the ranks of a communicator.
struct Route {
  std::vector<model::RankId> ranks;  // [member]
  TransferPattern pattern;
  std::vector<Connection> connections;   // [edge]
  std::vector<double> copy_ns_per_byte;  // [stage] between two messages that its kernel fills
};

// One operation on a route.
struct Transfer {
  uint32_t messages = 0;  // of each edge
  double bytes_per_message = 0;
  std::span<const Instant> starts;  // [member] of the kernels
  // A member that gives up after half of its messages and waits for more forever; none by default.
  MemberIndex short_member = ~MemberIndex{0};
};

class TransferSimulator {
 public:
  TransferSimulator(const JobShape& shape, const NoiseOptions& noise, std::vector<ReportWindows> windows,
                    FaultEffects* effects, uint64_t seed);

  // Lays the pattern over ranks; the network's ends get accounts of their own.
  Route MakeRoute(model::CommunicatorId communicator, std::vector<model::RankId> ranks, TransferPattern pattern);

  // Simulates one operation. `finishes` [member]: when its last message in either direction is done; at least its
  // start.
  void Simulate(const Route& route, const Transfer& transfer, std::span<Instant> finishes);

  // The accounts of a rank's ends of connections.
  std::vector<ConnectionAccount>& accounts() { return accounts_; }
  std::span<const uint32_t> AccountsOf(model::RankId rank) const { return accounts_of_[rank.index()]; }

 private:
  // One message of an edge.
  struct Slot {
    Instant done = 0;     // as the sender has seen it
    Instant clear = 0;    // when the receiver posted the buffer
    Instant arrived = 0;  // data complete at the receiver, before the flush
    Instant taken = 0;
  };
  // Of one edge: its last messages, and when its wire is free.
  struct EdgeState {
    std::array<Slot, kSlots> slots = {};  // [message modulo kSlots]
    Instant wire_free = 0;
    double ns = 0;  // of a message on the wire, without noise and faults
  };

  template <bool HasGates>
  void SimulateAll(const Route& route, const Transfer& transfer, std::span<Instant> finishes);
  template <bool HasGates>
  void SimulateStage(const Route& route, const Transfer& transfer, size_t stage_index, uint32_t message);
  template <bool HasGates>
  void Send(const Route& route, const Transfer& transfer, EdgeIndex edge, uint32_t message, Instant filled);
  void CountReceived(const Connection& connection, const Slot& slot, const Transfer& transfer, uint32_t message);
  void PrepareEdges(const Route& route, const Transfer& transfer);
  void DrawCongestion();
  Instant OnWire(const Connection& connection, const EdgeState& state, Instant sent);
  Instant OnFaultyWire(const Connection& connection, Instant sent, Instant begin, Instant duration);
  template <bool HasGates>
  Instant Process(const Connection& connection, model::RankId rank, Instant t) {
    if constexpr (!HasGates) return t;
    return connection.is_network ? effects_->Process(rank, t) : t;
  }

  JobShape shape_;
  std::vector<ReportWindows> windows_;  // [host]
  FaultEffects* effects_;
  NoiseTable wire_noise_;
  NoiseTable connection_noise_;
  Random loss_random_;
  Random congestion_random_;
  double congestion_;
  uint64_t until_congestion_ = 0;  // uses of connections before the next one that is congested
  std::vector<ConnectionAccount> accounts_;
  std::vector<std::vector<uint32_t>> accounts_of_;  // [rank]
  // Scratch of Play.
  std::vector<EdgeState> edges_;
  std::vector<Instant> stage_times_;
};

}  // namespace fairlead::execution
