// What the ranks of a job tell about their communication: the records that the diagnosis reads, whether they come from
// the simulator, from a recording, or from plugins in live processes.
//
//     rank process --- RankReport, once a second ---+
//     host agent   --- HostReport, once a second ---+--> diagnosis
//     once per job --- JobLayout -------------------+
//
// Instants of a report are on the clock of its host: clocks of hosts may differ by some milliseconds, and the diagnosis
// estimates by how much. Sums over messages are differences since the rank's report before. Operations under way are
// repeated in every report, so that a lost report does no lasting harm.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md sections 2 and 3.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/sim_time.h"

namespace fairlead::model {

// A rank of the job, not of one of its communicators.
using RankId = Id<struct RankIdTag>;
using CommunicatorId = Id<struct CommunicatorIdTag>;  // dense in its job
using LeafId = Id<struct LeafIdTag>;                  // a leaf switch, whatever it is called elsewhere

// Where a rank runs. Ranks that share a GPU, NIC or leaf have equal ids.
struct RankPlace {
  HostId host;
  uint32_t gpu = 0;  // on the host
  NicId nic;         // that its connections use; invalid: unknown
  // [plane] leaf switches behind the ports of the NIC; empty: unknown.
  std::vector<LeafId> leaves;

  friend bool operator==(const RankPlace&, const RankPlace&) = default;
};

struct Communicator {
  std::string name;           // for people, such as "data 3"
  std::vector<RankId> ranks;  // [rank of the communicator]

  friend bool operator==(const Communicator&, const Communicator&) = default;
};

// What does not change while a job runs.
struct JobLayout {
  JobId job;
  std::vector<RankPlace> ranks;             // [rank]
  std::vector<Communicator> communicators;  // [communicator]

  friend bool operator==(const JobLayout&, const JobLayout&) = default;
};

// Wire and dump values: never renumber.
enum class OperationKind : uint8_t {
  kAllReduce = 0,
  kAllGather = 1,
  kReduceScatter = 2,
  kBroadcast = 3,
  kReduce = 4,
  kAllToAll = 5,
  kSend = 6,     // to `peer`
  kReceive = 7,  // from `peer`
  kBarrier = 8,
  kUnknown = 9,
};
inline constexpr size_t kNumOperationKinds = 10;
// Of two ranks; the others are collectives of all of the communicator.
constexpr bool IsTransfer(OperationKind kind) {
  return kind == OperationKind::kSend || kind == OperationKind::kReceive;
}

// One operation of one rank on one communicator. Reported whenever an instant has become known, and in every report
// until it has finished.
struct OperationRecord {
  CommunicatorId communicator;
  OperationKind kind = OperationKind::kUnknown;
  // Of this kind on this communicator, by this rank, and for sends and receives with this peer; counts from 0.
  uint64_t sequence = 0;
  // Of all operations on this communicator by this rank; counts from 0.
  uint64_t issue_index = 0;
  uint64_t bytes = 0;               // as the caller sees it; 0: unknown
  std::string data_type;            // NCCL's name, such as "ncclBfloat16"; empty: unknown
  int32_t root = -1;                // rank of the communicator; -1: the kind has none
  RankId peer;                      // of sends and receives
  SimTime enqueued;                 // by the host thread
  std::optional<SimTime> started;   // first kernel began; nothing: not yet
  std::optional<SimTime> finished;  // last kernel ended; nothing: not yet

  friend bool operator==(const OperationRecord&, const OperationRecord&) = default;
};

// How far a rank is with operations of one communicator that run one after the other: its collectives, its sends to one
// peer, or its receives from one peer. How many were there ever?
struct ProgressRecord {
  CommunicatorId communicator;
  OperationKind kind = OperationKind::kUnknown;  // kSend, kReceive; kUnknown: collectives of all kinds
  RankId peer;                                   // of sends and receives
  uint64_t enqueued = 0;
  uint64_t started = 0;
  uint64_t finished = 0;

  friend bool operator==(const ProgressRecord&, const ProgressRecord&) = default;
};

// Wire and dump values: never renumber.
enum class Direction : uint8_t { kSend = 0, kReceive = 1 };

// Where the oldest message under way of a connection is; which end is waited for. Wire and dump values: never renumber.
enum class TransferPhase : uint8_t {
  kIdle = 0,                // nothing under way
  kSendWaitsForGpu = 1,     // the sender's GPU has not filled the buffer
  kSendWaitsForPeer = 2,    // the receiver has not posted a buffer
  kSendOnWire = 3,          // handed to the network, not completed
  kReceivePosted = 4,       // no data yet: the sender is late, or the wire slow
  kReceiveFlushing = 5,     // data is there, on its way to GPU memory
  kReceiveWaitsForGpu = 6,  // the receiver's GPU has not taken the data
};

// One direction of a connection, as one end sees it.
struct ConnectionKey {
  CommunicatorId communicator;
  uint16_t channel = 0;
  uint8_t plane = 0;
  Direction direction = Direction::kSend;
  RankId peer;  // the far end

  friend constexpr auto operator<=>(const ConnectionKey&, const ConnectionKey&) = default;
};

// Histogram of wire times: bin b counts messages that took 2^b .. 2^(b+1) microseconds; the first and last bin also
// what lies outside.
inline constexpr size_t kNumWireTimeBins = 20;

struct ConnectionRecord {
  ConnectionKey key;
  // Messages completed since the report before, and sums over them.
  uint64_t messages = 0;
  uint64_t bytes = 0;
  // Send: handed to the network, or the message before completed if that was later .. completed. So a burst that queues
  // behind itself, such as when a late receiver has posted its buffers, looks no slower than single messages.
  SimDuration wire_time;
  SimDuration wire_time_max;  // of one message
  std::array<uint32_t, kNumWireTimeBins> wire_time_bins = {};
  SimDuration wait_for_gpu;   // send: local GPU fills the buffer; receive: local GPU takes the data, flush included
  SimDuration wait_for_peer;  // send: receiver not ready; receive: posted .. data complete, the wire included
  // At the time of the report.
  uint32_t in_flight = 0;
  TransferPhase phase = TransferPhase::kIdle;
  SimTime phase_since;    // of the oldest message under way; meaningless when idle
  SimTime last_progress;  // of any message

  friend bool operator==(const ConnectionRecord&, const ConnectionRecord&) = default;
};

// Of a thread, as its kernel says. Wire and dump values: never renumber.
enum class ThreadState : uint8_t {
  kSleeping = 0,  // waits, and can be woken
  kRunning = 1,
  kBlocked = 2,  // waits for a device or a file server, and can't be killed
  kStopped = 3,  // by a signal or a debugger
  kEnded = 4,
};

// "sleeping", "running", "blocked", "stopped", "ended".
std::string_view Name(ThreadState state);

// Threads of one process that are in the same place, as the kernel of its host sees them.
struct ThreadGroup {
  std::string name;  // without the digits at its end; what the process or a library calls them
  ThreadState state = ThreadState::kSleeping;
  std::string place;  // functions of the kernel, innermost first, " < " between them; empty: in none, or not known
  uint32_t count = 1;
  bool is_first = false;  // the process's first thread is among them: in Python the training script

  friend bool operator==(const ThreadGroup&, const ThreadGroup&) = default;
};

// What one rank has done since its report before. Read out of its memory by the agent, so a frozen rank reports, too.
struct RankReport {
  JobId job;
  RankId rank;
  uint64_t number = 0;  // counts from 0; tells lost, late and repeated reports
  SimTime at;           // on the host's clock
  // Those that have got further since, and those that are pending.
  std::vector<OperationRecord> operations;
  // Since when, on the host's clock: reports that overlap make good for one between them that is lost. Nothing: since
  // the report before.
  std::optional<SimTime> operations_since;
  // Of each communicator of the rank its collectives, whether there were any or not, and all its sends and receives.
  // With `operations`, that is all about the operations of the rank at the time of the report. Empty: not known.
  std::vector<ProgressRecord> progress;
  // Those with messages since, and those with a message under way.
  std::vector<ConnectionRecord> connections;
  // With a message under way. Nothing: not known.
  std::optional<uint32_t> busy_connections;
  bool is_finalizing = false;  // the rank has begun to leave: its silence is no fault
  // Now and then, of a rank that has done nothing for a while.
  std::vector<ThreadGroup> threads = {};

  friend bool operator==(const RankReport&, const RankReport&) = default;
};

// What the agent of a host sees from outside. Wire and dump values: never renumber.
enum class ProcessState : uint8_t {
  kRunning = 0,
  kGone = 1,     // the process has ended
  kStopped = 2,  // by a signal or a debugger
};

// Counters and logs of the host that say more than communication can. Wire and dump values: never renumber.
enum class HostSymptom : uint8_t {
  kGpuMemoryError = 0,  // uncorrectable ECC
  kNvlinkError = 1,
  kGpuError = 2,      // of its driver or firmware
  kGpuThrottled = 3,  // clocks down: heat or power
  kNicErrors = 4,     // retransmissions, symbol errors
  kLinkDown = 5,      // a port of a NIC
  kGpuLost = 6,       // fallen off the bus
  kPcieError = 7,     // uncorrected
  kOutOfMemory = 8,   // the kernel has killed a process for its memory
  kStalled = 9,       // a disk, a file server or a processor has not answered for long
};

constexpr bool IsOfGpu(HostSymptom symptom) {
  return symptom == HostSymptom::kGpuMemoryError || symptom == HostSymptom::kNvlinkError ||
         symptom == HostSymptom::kGpuError || symptom == HostSymptom::kGpuThrottled ||
         symptom == HostSymptom::kGpuLost || symptom == HostSymptom::kPcieError;
}

// A device that is broken, whoever else says so. The others explain what is seen, and are no reason to isolate.
constexpr bool IsDeviceFault(HostSymptom symptom) {
  return symptom != HostSymptom::kOutOfMemory && symptom != HostSymptom::kStalled;
}

struct HostSymptomRecord {
  HostSymptom symptom = HostSymptom::kGpuMemoryError;
  uint32_t device = 0;  // GPU of the host, or its NIC
  std::string text;     // the driver's message

  friend bool operator==(const HostSymptomRecord&, const HostSymptomRecord&) = default;
};

// How a process has ended, as far as its own host can tell. Wire and dump values: never renumber.
enum class ProcessEnd : uint8_t {
  kUnknown = 0,  // nothing follows from it
  kRegular = 1,  // it had finalized its communicators, or had taken its file away with no operation pending
  kBroken = 2,   // otherwise
};

// Of a process that is gone. What is not known is not there: no value stands for it.
struct ProcessExit {
  std::optional<int32_t> code = {};  // -9: ended by signal 9
  ProcessEnd end = ProcessEnd::kUnknown;
  // On the host's clock: not later than `at`, and not earlier than `within` before. Those of one host are in the order
  // of their deaths.
  std::optional<SimTime> at = {};
  SimDuration within = {};

  // Other than a program ends that has finished.
  bool is_broken() const {
    return end == ProcessEnd::kBroken || (end == ProcessEnd::kUnknown && code.value_or(0) != 0);
  }

  friend bool operator==(const ProcessExit&, const ProcessExit&) = default;
};

struct RankLiveness {
  RankId rank;
  ProcessState state = ProcessState::kRunning;
  ProcessExit exit = {};  // of one that is gone

  friend bool operator==(const RankLiveness&, const RankLiveness&) = default;
};

struct HostReport {
  JobId job;
  HostId host;
  uint64_t number = 0;  // as in RankReport
  SimTime at;           // on the host's clock
  std::vector<RankLiveness> ranks;
  std::vector<HostSymptomRecord> symptoms;  // seen since the report before

  friend bool operator==(const HostReport&, const HostReport&) = default;
};

// One line of a recording, in order of arrival.
using TelemetryRecord = std::variant<JobLayout, RankReport, HostReport>;

}  // namespace fairlead::model
