// What one worker of a training job has to do in the lab: its connections, and its iteration, as plain numbers.
//
// A worker is the process of one host: it sends and receives what all ranks of its job on that host do. Workers of a
// job have the same list of phases; data tells them apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::lab {

// One TCP connection, which carries data one way: what a queue pair is to RDMA.
struct ConnectionPlan {
  uint32_t id = 0;    // the same at both ends, dense over the job
  uint32_t peer = 0;  // worker at the other end
  bool is_outgoing = false;
  std::string from;   // IPv4 address of the sender's NIC, which the connection is bound to
  std::string to;     // of the receiver's
  uint16_t port = 0;  // where the receiver listens

  friend bool operator==(const ConnectionPlan&, const ConnectionPlan&) = default;
};

// What a connection of this worker carries in one phase; it has at most one transfer in each.
struct TransferPlan {
  uint32_t connection = 0;  // index into TrainerPlan::connections
  uint64_t bytes = 0;       // > 0

  friend bool operator==(const TransferPlan&, const TransferPlan&) = default;
};

// Transfers of one collective that hang together. In a ring a worker passes on what it has received: of `parts` equal
// parts of its bytes it may have sent `lead` more than have come in over all its queue pairs. Elsewhere lead = parts,
// and nothing waits.
//
// With `pools` the transfers between the same two NICs are one pool: the sum of their bytes goes over whichever of its
// connections takes more, in chunks (chunk.h). A connection shares its bytes in all phases, or in none.
struct StreamPlan {
  uint32_t parts = 1;  // >= 1
  uint32_t lead = 1;   // in [1, parts]
  bool pools = false;
  std::vector<TransferPlan> sends;
  std::vector<TransferPlan> receives;

  friend bool operator==(const StreamPlan&, const StreamPlan&) = default;
};

// Bytes that go over any of some connections.
struct Pool {
  uint64_t bytes = 0;
  std::vector<uint32_t> connections;  // indices into TrainerPlan::connections
};

// Args: transfers: the sends or the receives of one stream. Without `pools` each of them is alone. By the first
// transfer of each.
std::vector<Pool> PoolsOf(const std::vector<ConnectionPlan>& connections, const std::vector<TransferPlan>& transfers,
                          bool pools);

// The channels of a communicator (NCCL's limit). Both ends of a connection of the library know it by the same number.
inline constexpr uint32_t kNumChannels = 64;

// Workers that call operations of a communication library together, for observers that want to see them as such
// (collective_observer.h). A worker is one rank.
struct CommunicatorPlan {
  uint64_t id = 0;  // the same in all its workers
  std::string name;
  std::vector<uint32_t> workers;  // [rank of the communicator], ascending; >= 2

  friend bool operator==(const CommunicatorPlan&, const CommunicatorPlan&) = default;
};

// What an operation moves to or from one peer on one channel.
struct ChannelPlan {
  uint32_t peer = 0;  // rank of the communicator
  uint32_t channel = 0;
  bool is_send = false;
  // That carry it in this phase; whole pools. Both ends name the same ones, in the same order. >= 1
  std::vector<uint32_t> connections;

  friend bool operator==(const ChannelPlan&, const ChannelPlan&) = default;
};

// One call of the library. A connection is in one channel of a phase at most.
struct OperationPlan {
  uint32_t communicator = 0;  // index into TrainerPlan::communicators
  std::string function;       // AllReduce, AllGather, ReduceScatter, Broadcast, Send, Recv: as NCCL calls them
  uint64_t bytes = 0;         // the count that the caller gives, of elements of one byte
  int32_t peer = -1;          // rank of the communicator, of Send and Recv
  std::vector<ChannelPlan> channels;

  friend bool operator==(const OperationPlan&, const OperationPlan&) = default;
};

struct PhasePlan {
  std::string name;
  double start_fraction = 1;  // as model::CommunicationPhase
  bool blocks_compute = false;
  double local_s = 0;  // communication inside the host: takes this long, beside the streams
  std::vector<StreamPlan> streams;
  std::vector<OperationPlan> operations = {};  // in the order of the calls

  friend bool operator==(const PhasePlan&, const PhasePlan&) = default;
};

struct TrainerPlan {
  std::string job;
  uint32_t worker = 0;
  uint32_t num_workers = 1;
  uint32_t num_gpus = 1;    // that this worker emulates
  double work_flop = 0;     // that they do in an iteration, all together
  double compute_s = 0;     // of an iteration, bubbles included; may be 0 if there is communication
  double start_s = 0;       // waits so long after its connections are established
  uint64_t iterations = 0;  // ends after these; 0: runs until SIGTERM
  uint16_t listen_port = 0;
  std::vector<std::string> listen_addresses;  // of its NICs
  // A file in which worker 0 writes down every so many iterations how many are done, and from which all go on at their
  // start; empty or 0: none.
  std::string checkpoint;
  uint64_t checkpoint_every = 0;
  // A file in which worker 0 writes after each iteration how many are done, as a decimal number; empty: none.
  std::string progress = {};
  std::vector<ConnectionPlan> connections;
  std::vector<CommunicatorPlan> communicators;
  std::vector<PhasePlan> phases;

  friend bool operator==(const TrainerPlan&, const TrainerPlan&) = default;
};

std::string WriteTrainerPlan(const TrainerPlan& plan);

// Errors: kInvalidArgument: no JSON, a missing or mistyped key, numbers out of range, a transfer without its
// connection, in the wrong direction, or beside another one of its connection and phase; a pool of several peers, a
// connection that shares its bytes in some phases only; a communicator without this worker, an operation that it does
// not know or whose channels carry nothing, something else, or a part of a pool; `path` appears in the message.
Result<TrainerPlan> ReadTrainerPlan(std::string_view text, const std::string& path);

}  // namespace fairlead::lab
