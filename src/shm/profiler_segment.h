// What the profiler plugin writes and the agent reads: one file of shared memory per process, /dev/shm/fairlead-PID
// (fairlead-PID.SUFFIX, some hexadecimal digits, where another user has taken that name).
//
//     0        SegmentHeader                 the writer, dropped events, requested events
//     4096     CommunicatorSlot[512]         communicators of the process, in order of their init
//              OperationSlot[8192]           the latest operations, a ring
//              ConnectionSlot[8192]          one direction of a connection each, sums since the process began
//
// The reader may come at any time, also when the process is frozen or dead: nothing waits for it, and it waits for
// nothing. All fields that change are atomics of their natural size, so that no value is ever torn; values that belong
// together are guarded by a number that is looked at before and after:
//     OperationSlot.ticket       0 while the slot is being given to another operation; else the operation's number
//     ConnectionSlot.version     odd while the slot is being changed; a process that died in between leaves it odd,
//                                then each value is correct separately
// Times are CLOCK_MONOTONIC of the host in nanoseconds unless a name says GPU. Freestanding: no code but layouts.
// Never change a layout without a new kSegmentVersion.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace fairlead::shm {

inline constexpr uint64_t kSegmentMagic = 0x31464f5250414c46;  // "FLAPROF1", read as bytes
inline constexpr uint32_t kSegmentVersion = 1;

#ifndef FAIRLEAD_SMALL_SEGMENT
inline constexpr uint32_t kNumCommunicators = 512;
inline constexpr uint32_t kNumOperations = 8192;
inline constexpr uint32_t kNumConnections = 8192;
#else
// Only where a program of its own reads its own segments: the fuzzer would spend its time on empty slots.
inline constexpr uint32_t kNumCommunicators = 8;
inline constexpr uint32_t kNumOperations = 80;
inline constexpr uint32_t kNumConnections = 80;
#endif
// As model::kNumWireTimeBins: bin b counts messages that took 2^b .. 2^(b+1) microseconds.
inline constexpr uint32_t kNumWireTimeBins = 20;

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);
static_assert(sizeof(std::atomic<uint64_t>) == 8 && sizeof(std::atomic<uint32_t>) == 4);

struct SegmentHeader {
  uint64_t magic;  // written last when the segment is made
  uint32_t version;
  uint32_t bytes;
  int32_t pid;
  int32_t global_rank;      // of the job, from the environment; -1: unknown
  uint64_t process_start;   // field 22 of /proc/PID/stat: tells a process from a later one of the same number
  int64_t realtime_offset;  // CLOCK_REALTIME - CLOCK_MONOTONIC when the segment was made
  char job[64];             // FAIRLEAD_JOB; empty: unknown
  // Written by the agent: events that it wants, as bits of NCCL's mask; 0: the plugin's default.
  std::atomic<uint32_t> wanted_events;
  std::atomic<uint32_t> num_communicators;  // slots in use so far
  std::atomic<uint64_t> num_operations;     // begun so far; ticket of the latest one
  // What was not recorded, because a table was full.
  std::atomic<uint64_t> dropped_communicators;
  std::atomic<uint64_t> dropped_operations;
  std::atomic<uint64_t> dropped_connections;
  std::atomic<uint64_t> dropped_proxy_operations;
  // Events that can't be: of handles that have ended, of other processes.
  std::atomic<uint64_t> stale_handles;
  std::atomic<uint64_t> foreign_operations;
};
static_assert(offsetof(SegmentHeader, job) == 40 && offsetof(SegmentHeader, wanted_events) == 104);
static_assert(sizeof(SegmentHeader) == 168);

// Never renumber.
enum class CommunicatorState : uint32_t { kFree = 0, kLive = 1, kFinalized = 2 };

struct CommunicatorSlot {
  std::atomic<uint32_t> state;  // CommunicatorState; written last
  int32_t num_ranks;
  int32_t rank;  // of this process
  int32_t num_nodes;
  uint64_t id;    // the same in all processes of the communicator
  char name[48];  // may be empty, may be cut
  std::atomic<uint64_t> num_operations;
  // Least difference host clock - GPU clock that was seen, of this and of the window before (kGpuClockWindowNs):
  // the GPU's instants plus this are the host's, but for the delay of the quickest report.
  std::atomic<int64_t> gpu_clock_offset[2];
  std::atomic<int64_t> gpu_clock_window;  // number of the window that [0] belongs to
};
inline constexpr int64_t kGpuClockWindowNs = int64_t{1} << 34;  // 17 s
inline constexpr int64_t kNoClockOffset = INT64_MAX;
static_assert(offsetof(CommunicatorSlot, num_operations) == 72 && sizeof(CommunicatorSlot) == 104);

// Never renumber; as model::OperationKind.
enum class OperationKind : uint8_t {
  kAllReduce = 0,
  kAllGather = 1,
  kReduceScatter = 2,
  kBroadcast = 3,
  kReduce = 4,
  kAllToAll = 5,
  kSend = 6,
  kReceive = 7,
  kBarrier = 8,
  kUnknown = 9,
};

struct OperationSlot {
  std::atomic<uint64_t> ticket;  // counts from 1; 0: being written
  uint64_t sequence;             // of this kind (for sends and receives: with this peer) on this communicator; from 0
  uint64_t issue_index;          // of all operations on this communicator; from 0
  uint64_t count;                // elements
  uint16_t communicator;
  OperationKind kind;
  uint8_t num_channels;
  int32_t root_or_peer;  // -1: none
  char data_type[16];
  char algorithm[8];
  char protocol[8];
  int64_t enqueued_ns;
  std::atomic<int64_t> enqueue_ended_ns;  // 0: not yet
  // Of the kernel: first channel that began, last one that ended, by the GPU's clock and by the time of the report; 0:
  // not yet.
  std::atomic<uint64_t> kernel_began_gpu_ns;
  std::atomic<int64_t> kernel_began_reported_ns;
  std::atomic<uint64_t> kernel_ended_gpu_ns;
  // Parts of it that are under way (channels of the kernel, proxy operations), and that have begun so far. It has
  // finished when parts have begun, none is under way, and it has been enqueued.
  std::atomic<uint32_t> num_parts_live;
  std::atomic<uint32_t> num_parts;
  std::atomic<int64_t> last_part_ended_ns;
};
static_assert(offsetof(OperationSlot, communicator) == 32 && offsetof(OperationSlot, data_type) == 40);
static_assert(offsetof(OperationSlot, enqueued_ns) == 72 && sizeof(OperationSlot) == 128);

// Never renumber; as model::TransferPhase.
enum class TransferPhase : uint32_t {
  kIdle = 0,
  kSendWaitsForGpu = 1,
  kSendWaitsForPeer = 2,
  kSendOnWire = 3,
  kReceivePosted = 4,
  kReceiveFlushing = 5,
  kReceiveWaitsForGpu = 6,
};

// Which connection a slot is: PackConnection(). 0: free; kGoneConnection: was one of a communicator that has ended.
constexpr uint64_t PackConnection(uint32_t communicator, uint8_t channel, bool is_send, uint32_t peer) {
  return uint64_t{1} << 63 | uint64_t{communicator} << 41 | uint64_t{channel} << 33 | uint64_t{is_send} << 32 | peer;
}
inline constexpr uint64_t kGoneConnection = 1;
constexpr uint32_t CommunicatorOf(uint64_t key) { return static_cast<uint32_t>(key >> 41 & 0x3fffff); }
constexpr uint8_t ChannelOf(uint64_t key) { return static_cast<uint8_t>(key >> 33); }
constexpr bool IsSend(uint64_t key) { return (key >> 32 & 1) != 0; }
constexpr uint32_t PeerOf(uint64_t key) { return static_cast<uint32_t>(key); }

struct ConnectionSlot {
  std::atomic<uint64_t> key;
  std::atomic<uint32_t> version;
  std::atomic<uint32_t> num_in_flight;
  // Sums since the process began; their meaning is that of model::ConnectionRecord.
  std::atomic<uint64_t> messages;
  std::atomic<uint64_t> bytes;
  std::atomic<int64_t> wire_ns;
  std::atomic<int64_t> wait_for_gpu_ns;
  std::atomic<int64_t> wait_for_peer_ns;
  // Greatest wire time of one message in the window under way and in the one before (kMaximumWindowNs).
  std::atomic<int64_t> wire_ns_max[2];
  std::atomic<int64_t> maximum_window;  // number of the window that [0] belongs to
  std::atomic<uint32_t> wire_time_bins[kNumWireTimeBins];
  std::atomic<uint32_t> phase;  // TransferPhase of the oldest message under way
  std::atomic<uint32_t> reserved;
  std::atomic<int64_t> phase_since_ns;
  std::atomic<int64_t> last_progress_ns;
};
inline constexpr int64_t kMaximumWindowNs = int64_t{1} << 31;  // 2.1 s: no shorter than the time between two looks
static_assert(offsetof(ConnectionSlot, messages) == 16 && offsetof(ConnectionSlot, wire_time_bins) == 80);
static_assert(offsetof(ConnectionSlot, phase_since_ns) == 168 && sizeof(ConnectionSlot) == 184);

struct ProfilerSegment {
  SegmentHeader header;
  uint8_t padding[4096 - sizeof(SegmentHeader)];
  CommunicatorSlot communicators[kNumCommunicators];
  OperationSlot operations[kNumOperations];
  ConnectionSlot connections[kNumConnections];
};
static_assert(offsetof(ProfilerSegment, communicators) == 4096);
static_assert(sizeof(ProfilerSegment) <= 4 << 20);

}  // namespace fairlead::shm
