// From the events of NCCL's profiler to the segment that the agent reads.
//
//     NCCL's threads --> profiler_plugin.cc (one adaptor per version) --> Recorder --> shm::ProfilerSegment
//
// Method      operations   a ring of slots, one for each; an operation has finished when all its parts have
//                          (kernel channels, proxy operations), since NCCL tells of its being enqueued only
//             proxy steps  are not recorded one by one: the time between states goes into the sums of the connection
//             handles      places and generations (event_handle.h): what comes late or twice is counted and ignored
//             sockets      of a process are bounded in what they hold back (unsent_bound.h), or their times say nothing
// Cost        no allocation or lock in any event, no system call but after a connection's first send, one reading of
//             the clock for each change of state (BM_ProxyStep in profiler_bench.cc).
// Threads     any, as NCCL calls: operations by the user's threads; proxy operations, their steps and kernel channels
//             of a communicator by one thread, which may differ from that of another communicator.
// Guarantees  never fails, whatever comes. The caller's data is read within the call only.
// Limits      item 16: where no network is involved there are kernel channels, but no connections.
// Size        over 400 lines: one function for each event of NCCL, all on the segment and its handles alone.
// Reference   C4, HPCA 2025; the numbered items are those of docs/spec/nccl-plugin-abi.md section 5.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "ccl/profiler/event_handle.h"
#include "ccl/profiler/unsent_bound.h"
#include "shm/profiler_segment.h"

namespace fairlead::ccl {

// Collectives, sends and receives, proxy operations and their steps, kernel channels.
inline constexpr uint32_t kDefaultEvents = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 6;

struct OperationEvent {
  shm::OperationKind kind = shm::OperationKind::kUnknown;
  uint64_t sequence = 0;  // of collectives
  uint64_t count = 0;
  int32_t root_or_peer = -1;
  uint8_t num_channels = 0;
  // Null: unknown.
  const char* data_type = nullptr;
  const char* algorithm = nullptr;
  const char* protocol = nullptr;
};

struct ProxyOperationEvent {
  int32_t pid = 0;
  uint8_t channel = 0;
  uint32_t peer = 0;
  bool is_send = false;
};

// All zero at first, so that it takes no room in the file and no memory before it is used.
class Recorder {
 public:
  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The context of a communicator, never null; sets *mask to the events that are wanted: 0 where nothing can be
  // recorded. Args: name may be null, num_ranks 0: unknown.
  void* BeginCommunicator(uint64_t id, const char* name, int32_t num_nodes, int32_t num_ranks, int32_t rank, int* mask);
  void EndCommunicator(void* context);

  // Handles; null only for steps.
  void* StartOperation(void* context, const OperationEvent& event);
  void* StartProxyOperation(void* context, void* parent, const ProxyOperationEvent& event);
  void* StartProxyStep(void* parent, int32_t number);
  void* StartKernelChannel(void* parent, uint64_t gpu_timer_ns);

  void Stop(void* handle);
  void ChangeStepState(void* handle, int state, uint64_t transferred_bytes);
  void EndKernelChannel(void* handle, uint64_t gpu_timer_ns);
  // Versions 1 to 3 name the communicator only with its operations.
  void NameCommunicator(void* context, uint64_t id, const char* name);

 private:
  static constexpr uint32_t kStepsPerOperation = 8;  // item 10
  static constexpr uint32_t kNumProxyOperations = 4096;

  struct Step {
    int32_t number = 0;
    int32_t state = 0;     // 0: begun
    int64_t since_ns = 0;  // of the state
    uint64_t bytes = 0;
    uint8_t generation = 0;
    bool is_live = false;
  };
  struct ProxyOperation {
    std::atomic<uint32_t> next_free = 0;   // index + 1; 0: none
    std::atomic<uint32_t> generation = 0;  // odd: live
    // Below: meaningless unless live. kNoIndex: none.
    uint32_t operation = 0;
    uint32_t operation_generation = 0;
    uint32_t connection = 0;
    bool is_send = false;
    Step steps[kStepsPerOperation];
  };
  struct PeerCounts {
    std::atomic<uint32_t>* counts = nullptr;  // [2 * peer + is send]
    size_t bytes = 0;
  };

  uint32_t TakeCommunicatorSlot();
  void ForgetOperations(uint32_t communicator);
  void ForgetConnections(uint32_t communicator);
  uint64_t NextSequence(uint32_t communicator, const OperationEvent& event);
  bool IsNeverReported(uint32_t communicator, const OperationEvent& event) const;
  shm::OperationSlot* TakeOperationSlot(uint64_t* ticket);
  shm::OperationSlot* FindOperation(uint32_t index, uint32_t generation);
  uint32_t FindConnection(uint64_t key);
  uint32_t TakeProxyOperation();
  ProxyOperation* FindProxyOperation(const EventHandle& handle);
  Step* FindStep(const EventHandle& handle, ProxyOperation** operation);
  void EndPart(uint32_t index, uint32_t generation);
  void StopProxyOperation(const EventHandle& handle);
  void StopStep(const EventHandle& handle);
  void ShowPhase(const ProxyOperation& operation, int64_t now);
  void FollowMask();

  shm::ProfilerSegment* segment_ = nullptr;
  std::atomic<int*> mask_ = nullptr;
  std::atomic<uint32_t> events_ = 0;  // in force; 0: none has begun
  std::atomic_flag is_changing_communicators_ = ATOMIC_FLAG_INIT;
  UnsentBound unsent_bound_;
  PeerCounts peer_counts_[shm::kNumCommunicators];
  std::atomic<int64_t> last_sent_ns_[shm::kNumConnections] = {};  // [connection] end of the latest message
  // Proxy operations that have ended; tag << 32 | index + 1.
  std::atomic<uint64_t> free_proxy_operations_ = 0;
  std::atomic<uint32_t> num_proxy_operations_ = 0;
  ProxyOperation proxy_operations_[kNumProxyOperations];
};

// That of this process.
Recorder& ProcessRecorder();

}  // namespace fairlead::ccl
