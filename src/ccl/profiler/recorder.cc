#include "ccl/profiler/recorder.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "ccl/monotonic_clock.h"
#include "ccl/profiler/nccl_profiler_abi.h"
#include "ccl/profiler/segment_file.h"

namespace fairlead::ccl {
namespace {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;

// Slots that are passed over because what they hold has not ended.
constexpr int kSlotTries = 16;
constexpr uint32_t kProbeLimit = 64;

template <typename T, typename U>
void Add(std::atomic<T>& sum, U value) {
  sum.store(sum.load(memory_order_relaxed) + static_cast<T>(value), memory_order_relaxed);
}
void Count(std::atomic<uint64_t>& counter) { counter.fetch_add(1, memory_order_relaxed); }

template <size_t N>
void CopyText(const char* text, char (&to)[N]) {
  size_t i = 0;
  if (text != nullptr) {
    for (; i + 1 < N && text[i] != '\0'; ++i) to[i] = text[i];
  }
  to[i] = '\0';
}

uint64_t Mix(uint64_t value) {
  value = (value ^ value >> 31) * 0x9e3779b97f4a7c15u;
  return value ^ value >> 29;
}

// One thread changes a connection at a time; the reader sees the version odd meanwhile.
class ConnectionChange {
 public:
  explicit ConnectionChange(shm::ConnectionSlot* slot) : slot_(slot) {
    slot->version.fetch_add(1, memory_order_acq_rel);
  }
  ~ConnectionChange() { slot_->version.fetch_add(1, memory_order_release); }
  ConnectionChange(const ConnectionChange&) = delete;
  ConnectionChange& operator=(const ConnectionChange&) = delete;

 private:
  shm::ConnectionSlot* slot_;
};

void NoteWireTime(shm::ConnectionSlot* slot, int64_t wire_ns, int64_t now) {
  Add(slot->wire_ns, wire_ns);
  uint32_t bin = 0;
  for (uint64_t us = static_cast<uint64_t>(wire_ns) / 1000; us > 1 && bin + 1 < shm::kNumWireTimeBins; us >>= 1) ++bin;
  Add(slot->wire_time_bins[bin], 1);
  const int64_t window = now / shm::kMaximumWindowNs;
  const int64_t before = slot->maximum_window.load(memory_order_relaxed);
  if (window != before) {
    const int64_t last = window == before + 1 ? slot->wire_ns_max[0].load(memory_order_relaxed) : 0;
    slot->wire_ns_max[1].store(last, memory_order_relaxed);
    slot->wire_ns_max[0].store(0, memory_order_relaxed);
    slot->maximum_window.store(window, memory_order_relaxed);
  }
  if (wire_ns > slot->wire_ns_max[0].load(memory_order_relaxed)) {
    slot->wire_ns_max[0].store(wire_ns, memory_order_relaxed);
  }
}

void NoteGpuClock(shm::CommunicatorSlot* slot, int64_t offset, int64_t now) {
  const int64_t window = now / shm::kGpuClockWindowNs;
  if (window != slot->gpu_clock_window.load(memory_order_relaxed)) {
    slot->gpu_clock_offset[1].store(slot->gpu_clock_offset[0].load(memory_order_relaxed), memory_order_relaxed);
    slot->gpu_clock_offset[0].store(offset, memory_order_relaxed);
    slot->gpu_clock_window.store(window, memory_order_relaxed);
  } else if (offset < slot->gpu_clock_offset[0].load(memory_order_relaxed)) {
    slot->gpu_clock_offset[0].store(offset, memory_order_relaxed);
  }
}

shm::TransferPhase PhaseOf(int state) {
  switch (state) {
    case nccl::kSendGpuWait:
      return shm::TransferPhase::kSendWaitsForGpu;
    case nccl::kSendPeerWait:
      return shm::TransferPhase::kSendWaitsForPeer;
    case nccl::kSendWait:
      return shm::TransferPhase::kSendOnWire;
    case nccl::kReceiveWait:
      return shm::TransferPhase::kReceivePosted;
    case nccl::kReceiveFlushWait:
      return shm::TransferPhase::kReceiveFlushing;
    case nccl::kReceiveGpuWait:
      return shm::TransferPhase::kReceiveWaitsForGpu;
    default:
      return shm::TransferPhase::kIdle;  // begun, and nothing requested yet
  }
}

// Rare and short: communicators come and go one at a time.
class CommunicatorChange {
 public:
  explicit CommunicatorChange(std::atomic_flag* flag) : flag_(flag) {
    while (flag_->test_and_set(memory_order_acquire)) sched_yield();
  }
  ~CommunicatorChange() { flag_->clear(memory_order_release); }
  CommunicatorChange(const CommunicatorChange&) = delete;
  CommunicatorChange& operator=(const CommunicatorChange&) = delete;

 private:
  std::atomic_flag* flag_;
};

constinit Recorder process_recorder;

__attribute__((destructor)) void Unload() { RemoveSegmentFile(); }

}  // namespace

Recorder& ProcessRecorder() { return process_recorder; }

// ---- Communicators ----

// A free slot, else that of one that has ended, with nothing left of it.
uint32_t Recorder::TakeCommunicatorSlot() {
  for (uint32_t i = 0; i < shm::kNumCommunicators; ++i) {
    if (segment_->communicators[i].state.load(memory_order_relaxed) == uint32_t(shm::CommunicatorState::kFree)) {
      segment_->header.num_communicators.store(i + 1, memory_order_relaxed);
      return i;
    }
  }
  for (uint32_t i = 0; i < shm::kNumCommunicators; ++i) {
    if (segment_->communicators[i].state.load(memory_order_relaxed) == uint32_t(shm::CommunicatorState::kFinalized)) {
      ForgetOperations(i);
      return i;
    }
  }
  return kNoIndex;
}

void Recorder::ForgetOperations(uint32_t communicator) {
  for (shm::OperationSlot& slot : segment_->operations) {
    uint64_t ticket = slot.ticket.load(memory_order_relaxed);
    // Another thread may be about to give the slot to its own operation.
    const bool is_its = std::atomic_ref(slot.communicator).load(memory_order_relaxed) == communicator;
    if (ticket != 0 && is_its) slot.ticket.compare_exchange_strong(ticket, 0, memory_order_release);
  }
}

void Recorder::ForgetConnections(uint32_t communicator) {
  for (shm::ConnectionSlot& slot : segment_->connections) {
    const uint64_t key = slot.key.load(memory_order_relaxed);
    if (key > shm::kGoneConnection && shm::CommunicatorOf(key) == communicator) {
      slot.key.store(shm::kGoneConnection, memory_order_release);
    }
  }
}

void* Recorder::BeginCommunicator(uint64_t id, const char* name, int32_t num_nodes, int32_t num_ranks, int32_t rank,
                                  int* mask) {
  const CommunicatorChange change(&is_changing_communicators_);
  // Written once in a process, so that threads with other communicators may read it.
  if (auto* const segment = OpenSegment(); segment != segment_) segment_ = segment;
  uint32_t nothing_yet = 0;
  events_.compare_exchange_strong(nothing_yet, kDefaultEvents, memory_order_relaxed);
  if (mask != nullptr) {
    mask_.store(mask, memory_order_relaxed);
    __atomic_store_n(mask, segment_ == nullptr ? 0 : static_cast<int>(events_.load(memory_order_relaxed)),
                     __ATOMIC_RELAXED);
  }
  EventHandle context{HandleKind::kContext, 0, kNoIndex, 0};
  if (segment_ == nullptr) return Pack(context);
  unsent_bound_.Begin();
  context.index = TakeCommunicatorSlot();
  if (context.index == kNoIndex) {
    Count(segment_->header.dropped_communicators);
    return Pack(context);
  }
  shm::CommunicatorSlot& slot = segment_->communicators[context.index];
  slot.id = id;
  slot.num_ranks = num_ranks;
  slot.rank = rank;
  slot.num_nodes = num_nodes;
  CopyText(name, slot.name);
  slot.num_operations.store(0, memory_order_relaxed);
  for (std::atomic<int64_t>& offset : slot.gpu_clock_offset) offset.store(shm::kNoClockOffset, memory_order_relaxed);
  slot.gpu_clock_window.store(0, memory_order_relaxed);
  // Counts of sends and receives; pages that are not touched take no memory.
  PeerCounts& peers = peer_counts_[context.index];
  peers.bytes = num_ranks <= 0 ? 0 : static_cast<size_t>(num_ranks) * 2 * sizeof(std::atomic<uint32_t>);
  if (peers.bytes != 0) {
    void* memory =
        mmap(nullptr, peers.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    peers.counts = memory == MAP_FAILED ? nullptr : static_cast<std::atomic<uint32_t>*>(memory);
    if (peers.counts == nullptr) peers.bytes = 0;
  }
  slot.state.store(uint32_t(shm::CommunicatorState::kLive), memory_order_release);
  return Pack(context);
}

void Recorder::EndCommunicator(void* context) {
  const EventHandle handle = Unpack(context);
  if (handle.kind != HandleKind::kContext || handle.index >= shm::kNumCommunicators || segment_ == nullptr) return;
  const CommunicatorChange change(&is_changing_communicators_);
  shm::CommunicatorSlot& slot = segment_->communicators[handle.index];
  if (slot.state.load(memory_order_relaxed) != uint32_t(shm::CommunicatorState::kLive)) return;
  slot.state.store(uint32_t(shm::CommunicatorState::kFinalized), memory_order_release);
  ForgetConnections(handle.index);
  PeerCounts& peers = peer_counts_[handle.index];
  if (peers.counts != nullptr) munmap(peers.counts, peers.bytes);
  peers = PeerCounts();
}

void Recorder::NameCommunicator(void* context, uint64_t id, const char* name) {
  const EventHandle handle = Unpack(context);
  if (handle.kind != HandleKind::kContext || handle.index >= shm::kNumCommunicators || segment_ == nullptr) return;
  shm::CommunicatorSlot& slot = segment_->communicators[handle.index];
  if (slot.id != 0 || id == 0) return;
  const CommunicatorChange change(&is_changing_communicators_);
  CopyText(name, slot.name);
  slot.id = id;
}

// ---- Operations ----

// The agent's request, read when an operation begins; recording of operations stays on, or it would never be read
// again.
void Recorder::FollowMask() {
  const uint32_t wanted = segment_->header.wanted_events.load(memory_order_relaxed);
  const uint32_t events = wanted == 0 ? kDefaultEvents : wanted | nccl::kCollective | nccl::kPointToPoint;
  if (events == events_.load(memory_order_relaxed)) return;
  events_.store(events, memory_order_relaxed);
  if (int* mask = mask_.load(memory_order_relaxed)) __atomic_store_n(mask, static_cast<int>(events), __ATOMIC_RELAXED);
}

uint64_t Recorder::NextSequence(uint32_t communicator, const OperationEvent& event) {
  const bool is_send = event.kind == shm::OperationKind::kSend;
  if (!is_send && event.kind != shm::OperationKind::kReceive) return event.sequence;
  const PeerCounts& peers = peer_counts_[communicator];
  const size_t place = 2 * static_cast<size_t>(static_cast<uint32_t>(event.root_or_peer)) + (is_send ? 1 : 0);
  if ((place + 1) * sizeof(std::atomic<uint32_t>) > peers.bytes) return 0;
  return peers.counts[place].fetch_add(1, memory_order_relaxed);
}

// A send or receive of nothing, or of the rank with itself: NCCL tells that it is enqueued, and never that it has begun
// or ended. It would be pending for ever.
bool Recorder::IsNeverReported(uint32_t communicator, const OperationEvent& event) const {
  const bool is_transfer = event.kind == shm::OperationKind::kSend || event.kind == shm::OperationKind::kReceive;
  const shm::CommunicatorSlot& slot = segment_->communicators[communicator];
  const bool is_own = slot.num_ranks > 0 && event.root_or_peer == slot.rank;
  return is_transfer && (is_own || event.count == 0);
}

// The next slot whose operation has ended; null: none of the next ones has.
shm::OperationSlot* Recorder::TakeOperationSlot(uint64_t* ticket) {
  for (int i = 0; i < kSlotTries; ++i) {
    *ticket = segment_->header.num_operations.fetch_add(1, memory_order_relaxed) + 1;
    shm::OperationSlot& slot = segment_->operations[(*ticket - 1) % shm::kNumOperations];
    const bool is_used = slot.ticket.load(memory_order_relaxed) != 0;
    const bool is_live =
        slot.num_parts_live.load(memory_order_relaxed) != 0 || slot.enqueue_ended_ns.load(memory_order_relaxed) == 0;
    if (is_used && is_live) continue;
    slot.ticket.store(0, memory_order_release);
    return &slot;
  }
  Count(segment_->header.dropped_operations);
  return nullptr;
}

void* Recorder::StartOperation(void* context, const OperationEvent& event) {
  const EventHandle parent{HandleKind::kParent, 0, 0, 0};
  const EventHandle communicator = Unpack(context);
  if (segment_ == nullptr || communicator.kind != HandleKind::kContext ||
      communicator.index >= shm::kNumCommunicators) {
    return Pack(parent);
  }
  FollowMask();
  if (IsNeverReported(communicator.index, event)) return Pack(parent);
  uint64_t ticket = 0;
  shm::OperationSlot* slot = TakeOperationSlot(&ticket);
  const uint64_t sequence = NextSequence(communicator.index, event);
  const uint64_t issue_index =
      segment_->communicators[communicator.index].num_operations.fetch_add(1, memory_order_relaxed);
  if (slot == nullptr) return Pack(parent);
  slot->sequence = sequence;
  slot->issue_index = issue_index;
  slot->count = event.count;
  std::atomic_ref(slot->communicator).store(static_cast<uint16_t>(communicator.index), memory_order_relaxed);
  slot->kind = event.kind;
  slot->num_channels = event.num_channels;
  slot->root_or_peer = event.root_or_peer;
  CopyText(event.data_type, slot->data_type);
  CopyText(event.algorithm, slot->algorithm);
  CopyText(event.protocol, slot->protocol);
  slot->enqueued_ns = NowNs();
  slot->enqueue_ended_ns.store(0, memory_order_relaxed);
  slot->kernel_began_gpu_ns.store(0, memory_order_relaxed);
  slot->kernel_began_reported_ns.store(0, memory_order_relaxed);
  slot->kernel_ended_gpu_ns.store(0, memory_order_relaxed);
  slot->num_parts_live.store(0, memory_order_relaxed);
  slot->num_parts.store(0, memory_order_relaxed);
  slot->last_part_ended_ns.store(0, memory_order_relaxed);
  slot->ticket.store(ticket, memory_order_release);
  return Pack({HandleKind::kOperation, static_cast<uint32_t>(ticket),
               static_cast<uint32_t>((ticket - 1) % shm::kNumOperations), 0});
}

shm::OperationSlot* Recorder::FindOperation(uint32_t index, uint32_t generation) {
  if (index >= shm::kNumOperations) return nullptr;
  shm::OperationSlot& slot = segment_->operations[index];
  const uint64_t ticket = slot.ticket.load(memory_order_acquire);
  if (ticket != 0 && (ticket & kGenerationMask) == generation) return &slot;
  Count(segment_->header.stale_handles);
  return nullptr;
}

void Recorder::EndPart(uint32_t index, uint32_t generation) {
  if (index == kNoIndex) return;
  shm::OperationSlot* slot = FindOperation(index, generation);
  if (slot == nullptr) return;
  uint32_t live = slot->num_parts_live.load(memory_order_relaxed);
  do {
    if (live == 0) {
      Count(segment_->header.stale_handles);  // stopped twice
      return;
    }
    if (live == 1) slot->last_part_ended_ns.store(NowNs(), memory_order_relaxed);
  } while (!slot->num_parts_live.compare_exchange_weak(live, live - 1, memory_order_acq_rel, memory_order_relaxed));
}

// ---- Kernel channels ----

void* Recorder::StartKernelChannel(void* parent, uint64_t gpu_timer_ns) {
  const EventHandle operation = Unpack(parent);
  if (segment_ == nullptr || operation.kind != HandleKind::kOperation) return Pack({HandleKind::kParent, 0, 0, 0});
  shm::OperationSlot* slot = FindOperation(operation.index, operation.generation);
  if (slot == nullptr) return Pack({HandleKind::kParent, 0, 0, 0});
  slot->num_parts_live.fetch_add(1, memory_order_acq_rel);
  slot->num_parts.fetch_add(1, memory_order_relaxed);
  const uint64_t began = slot->kernel_began_gpu_ns.load(memory_order_relaxed);
  if (began == 0 || gpu_timer_ns < began) slot->kernel_began_gpu_ns.store(gpu_timer_ns, memory_order_relaxed);
  if (slot->kernel_began_reported_ns.load(memory_order_relaxed) == 0) {
    slot->kernel_began_reported_ns.store(NowNs(), memory_order_relaxed);
  }
  return Pack({HandleKind::kKernelChannel, operation.generation, operation.index, 0});
}

void Recorder::EndKernelChannel(void* handle, uint64_t gpu_timer_ns) {
  const EventHandle channel = Unpack(handle);
  if (segment_ == nullptr || channel.kind != HandleKind::kKernelChannel) return;
  shm::OperationSlot* slot = FindOperation(channel.index, channel.generation);
  if (slot == nullptr) return;
  if (gpu_timer_ns > slot->kernel_ended_gpu_ns.load(memory_order_relaxed)) {
    slot->kernel_ended_gpu_ns.store(gpu_timer_ns, memory_order_relaxed);
  }
  const int64_t now = NowNs();
  NoteGpuClock(&segment_->communicators[slot->communicator], now - static_cast<int64_t>(gpu_timer_ns), now);
}

// ---- Proxy operations ----

uint32_t Recorder::TakeProxyOperation() {
  uint64_t head = free_proxy_operations_.load(memory_order_acquire);
  while ((head & 0xffffffff) != 0) {
    const uint32_t index = static_cast<uint32_t>(head & 0xffffffff) - 1;
    const uint64_t next = proxy_operations_[index].next_free.load(memory_order_relaxed);
    // The tag tells a head that was taken and put back meanwhile.
    const uint64_t replacement = ((head >> 32) + 1) << 32 | next;
    if (free_proxy_operations_.compare_exchange_weak(head, replacement, memory_order_acq_rel, memory_order_acquire)) {
      return index;
    }
  }
  const uint32_t fresh = num_proxy_operations_.fetch_add(1, memory_order_relaxed);
  if (fresh < kNumProxyOperations) return fresh;
  num_proxy_operations_.store(kNumProxyOperations, memory_order_relaxed);
  return kNoIndex;
}

// The connection's slot, found or made; kNoIndex: the table is full.
uint32_t Recorder::FindConnection(uint64_t key) {
  const uint64_t start = Mix(key);
  uint32_t gone = kNoIndex;
  for (uint32_t i = 0; i < kProbeLimit; ++i) {
    const uint32_t index = static_cast<uint32_t>((start + i) % shm::kNumConnections);
    std::atomic<uint64_t>& slot_key = segment_->connections[index].key;
    uint64_t found = slot_key.load(memory_order_acquire);
    if (found == key) return index;
    if (found == shm::kGoneConnection && gone == kNoIndex) gone = index;
    if (found != 0) continue;
    const uint32_t place = gone != kNoIndex ? gone : index;
    uint64_t expected = gone != kNoIndex ? shm::kGoneConnection : 0;
    shm::ConnectionSlot& slot = segment_->connections[place];
    if (slot.key.compare_exchange_strong(expected, key, memory_order_acq_rel)) {
      const ConnectionChange change(&slot);
      slot.num_in_flight.store(0, memory_order_relaxed);
      slot.messages.store(0, memory_order_relaxed);
      slot.bytes.store(0, memory_order_relaxed);
      slot.wire_ns.store(0, memory_order_relaxed);
      slot.wait_for_gpu_ns.store(0, memory_order_relaxed);
      slot.wait_for_peer_ns.store(0, memory_order_relaxed);
      for (std::atomic<int64_t>& maximum : slot.wire_ns_max) maximum.store(0, memory_order_relaxed);
      for (std::atomic<uint32_t>& bin : slot.wire_time_bins) bin.store(0, memory_order_relaxed);
      slot.phase.store(uint32_t(shm::TransferPhase::kIdle), memory_order_relaxed);
      slot.last_progress_ns.store(0, memory_order_relaxed);
      last_sent_ns_[place].store(0, memory_order_relaxed);
      if (shm::IsSend(key)) unsent_bound_.NoteSender();
      return place;
    }
    gone = kNoIndex;  // another thread took it: keep searching
  }
  Count(segment_->header.dropped_connections);
  return kNoIndex;
}

void* Recorder::StartProxyOperation(void* context, void* parent, const ProxyOperationEvent& event) {
  const EventHandle nothing{HandleKind::kParent, 0, 0, 0};
  const EventHandle communicator = Unpack(context);
  if (segment_ == nullptr || communicator.kind != HandleKind::kContext ||
      communicator.index >= shm::kNumCommunicators) {
    return Pack(nothing);
  }
  const uint32_t index = TakeProxyOperation();
  if (index == kNoIndex) {
    Count(segment_->header.dropped_proxy_operations);
    return Pack(nothing);
  }
  ProxyOperation& operation = proxy_operations_[index];
  operation.operation = kNoIndex;
  // The parent of another process's operation is a number of that process's (item 12).
  if (event.pid != segment_->header.pid) {
    Count(segment_->header.foreign_operations);
  } else if (const EventHandle handle = Unpack(parent); handle.kind == HandleKind::kOperation) {
    if (shm::OperationSlot* slot = FindOperation(handle.index, handle.generation)) {
      slot->num_parts_live.fetch_add(1, memory_order_acq_rel);
      slot->num_parts.fetch_add(1, memory_order_relaxed);
      operation.operation = handle.index;
      operation.operation_generation = handle.generation;
    }
  }
  operation.is_send = event.is_send;
  operation.connection =
      FindConnection(shm::PackConnection(communicator.index, event.channel, event.is_send, event.peer));
  unsent_bound_.Follow();
  for (Step& step : operation.steps) step.is_live = false;
  const uint32_t generation = operation.generation.fetch_add(1, memory_order_acq_rel) + 1;
  return Pack({HandleKind::kProxyOperation, generation, index, 0});
}

Recorder::ProxyOperation* Recorder::FindProxyOperation(const EventHandle& handle) {
  if (handle.index < kNumProxyOperations) {
    ProxyOperation& operation = proxy_operations_[handle.index];
    const uint32_t generation = operation.generation.load(memory_order_acquire);
    if (generation % 2 == 1 && (generation & kGenerationMask) == handle.generation) return &operation;
  }
  Count(segment_->header.stale_handles);
  return nullptr;
}

void Recorder::StopProxyOperation(const EventHandle& handle) {
  ProxyOperation* operation = FindProxyOperation(handle);
  if (operation == nullptr) return;
  uint32_t num_unfinished = 0;
  for (Step& step : operation->steps) num_unfinished += step.is_live ? 1 : 0;
  if (num_unfinished != 0 && operation->connection != kNoIndex) {
    // Steps that were begun and never reported as ended.
    shm::ConnectionSlot& slot = segment_->connections[operation->connection];
    const ConnectionChange change(&slot);
    Add(slot.num_in_flight, -static_cast<int64_t>(num_unfinished));
    slot.phase.store(uint32_t(shm::TransferPhase::kIdle), memory_order_relaxed);
  }
  EndPart(operation->operation, operation->operation_generation);
  operation->generation.fetch_add(1, memory_order_acq_rel);
  uint64_t head = free_proxy_operations_.load(memory_order_relaxed);
  uint64_t replacement;
  do {
    operation->next_free.store(static_cast<uint32_t>(head & 0xffffffff), memory_order_relaxed);
    replacement = ((head >> 32) + 1) << 32 | (handle.index + 1);
  } while (
      !free_proxy_operations_.compare_exchange_weak(head, replacement, memory_order_acq_rel, memory_order_relaxed));
}

// ---- Steps ----

void* Recorder::StartProxyStep(void* parent, int32_t number) {
  const EventHandle handle = Unpack(parent);
  if (segment_ == nullptr || handle.kind != HandleKind::kProxyOperation) return nullptr;
  ProxyOperation* operation = FindProxyOperation(handle);
  if (operation == nullptr || operation->connection == kNoIndex) return nullptr;
  const uint32_t place = static_cast<uint32_t>(number) % kStepsPerOperation;
  Step& step = operation->steps[place];
  const auto pack = [&] {
    return Pack(
        {HandleKind::kProxyStep, handle.generation << 8 | step.generation, handle.index, static_cast<uint8_t>(place)});
  };
  // A receive begins again on every poll until it is posted (item 8).
  if (step.is_live && step.number == number) return pack();
  shm::ConnectionSlot& slot = segment_->connections[operation->connection];
  const int64_t now = NowNs();
  if (!step.is_live) Add(slot.num_in_flight, 1);
  step = {.number = number,
          .state = 0,
          .since_ns = now,
          .bytes = 0,
          .generation = static_cast<uint8_t>(step.generation + 1),
          .is_live = true};
  return pack();
}

Recorder::Step* Recorder::FindStep(const EventHandle& handle, ProxyOperation** operation) {
  if (handle.index < kNumProxyOperations && handle.part < kStepsPerOperation) {
    ProxyOperation& found = proxy_operations_[handle.index];
    const uint32_t generation = found.generation.load(memory_order_acquire);
    Step& step = found.steps[handle.part];
    if (generation % 2 == 1 && step.is_live &&
        ((generation << 8 | step.generation) & kGenerationMask) == handle.generation) {
      *operation = &found;
      return &step;
    }
  }
  Count(segment_->header.stale_handles);
  return nullptr;
}

// The phase of a connection is that of its oldest step.
void Recorder::ShowPhase(const ProxyOperation& operation, int64_t now) {
  shm::ConnectionSlot& slot = segment_->connections[operation.connection];
  const Step* oldest = nullptr;
  for (const Step& step : operation.steps) {
    if (step.is_live && (oldest == nullptr || step.number < oldest->number)) oldest = &step;
  }
  const auto phase = static_cast<uint32_t>(oldest == nullptr ? shm::TransferPhase::kIdle : PhaseOf(oldest->state));
  slot.phase.store(phase, memory_order_relaxed);
  slot.phase_since_ns.store(oldest == nullptr ? now : oldest->since_ns, memory_order_relaxed);
  slot.last_progress_ns.store(now, memory_order_relaxed);
}

void Recorder::ChangeStepState(void* handle, int state, uint64_t transferred_bytes) {
  const EventHandle unpacked = Unpack(handle);
  if (segment_ == nullptr || unpacked.kind != HandleKind::kProxyStep) return;
  ProxyOperation* operation = nullptr;
  Step* step = FindStep(unpacked, &operation);
  // State 20 repeats on every poll (item 7): nothing is read then, not even the clock.
  if (step == nullptr || step->state == state) return;
  const int64_t now = NowNs();
  const int64_t elapsed = now - step->since_ns;
  shm::ConnectionSlot& slot = segment_->connections[operation->connection];
  const ConnectionChange change(&slot);
  if (step->state == nccl::kSendGpuWait || step->state == nccl::kReceiveFlushWait) {
    Add(slot.wait_for_gpu_ns, elapsed);
  } else if (step->state == nccl::kSendPeerWait || step->state == nccl::kReceiveWait) {
    Add(slot.wait_for_peer_ns, elapsed);
  }
  if (state == nccl::kSendWait || state == nccl::kReceiveFlushWait) step->bytes = transferred_bytes;  // item 9
  step->state = state;
  step->since_ns = now;
  ShowPhase(*operation, now);
}

void Recorder::StopStep(const EventHandle& handle) {
  ProxyOperation* operation = nullptr;
  Step* step = FindStep(handle, &operation);
  if (step == nullptr) return;
  const int64_t now = NowNs();
  shm::ConnectionSlot& slot = segment_->connections[operation->connection];
  const ConnectionChange change(&slot);
  const bool is_sent = step->state == nccl::kSendWait;
  const bool is_received = step->state == nccl::kReceiveFlushWait || step->state == nccl::kReceiveGpuWait ||
                           step->state == nccl::kReceiveWait;
  if (is_sent) {
    // A message that queues behind the one before is on the wire from the end of that one.
    const int64_t last = last_sent_ns_[operation->connection].exchange(now, memory_order_relaxed);
    NoteWireTime(&slot, now - (step->since_ns > last ? step->since_ns : last), now);
  } else if (step->state == nccl::kReceiveWait) {
    Add(slot.wait_for_peer_ns, now - step->since_ns);
  } else if (is_received) {
    Add(slot.wait_for_gpu_ns, now - step->since_ns);
  }
  if (is_sent || is_received) {
    Add(slot.messages, 1);
    Add(slot.bytes, step->bytes);
  }
  step->is_live = false;
  Add(slot.num_in_flight, -1);
  ShowPhase(*operation, now);
}

void Recorder::Stop(void* handle) {
  const EventHandle unpacked = Unpack(handle);
  if (segment_ == nullptr) return;
  switch (unpacked.kind) {
    case HandleKind::kOperation:
      if (shm::OperationSlot* slot = FindOperation(unpacked.index, unpacked.generation)) {
        slot->enqueue_ended_ns.store(NowNs(), memory_order_release);
      }
      return;
    case HandleKind::kKernelChannel:
      return EndPart(unpacked.index, unpacked.generation);
    case HandleKind::kProxyOperation:
      return StopProxyOperation(unpacked);
    case HandleKind::kProxyStep:
      return StopStep(unpacked);
    case HandleKind::kNone:
    case HandleKind::kParent:
    case HandleKind::kContext:
      return;
  }
}

}  // namespace fairlead::ccl
