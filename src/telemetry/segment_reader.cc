#include "telemetry/segment_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstring>
#include <memory>
#include <tuple>
#include <type_traits>

#include "base/printable_ascii.h"

namespace fairlead::telemetry {

namespace {

constexpr int kReadings = 4;
constexpr size_t kSlotsAtOnce = 64;

template <typename T>
T Get(const std::atomic<T>& value) {
  return value.load(std::memory_order_relaxed);
}

template <typename... T>
bool AreInstants(T... ns) {
  return ((ns >= 0 && ns <= kMaxSegmentNs) && ...);
}
template <typename... T>
bool AreCounts(T... counts) {
  return ((counts <= kMaxSegmentCount) && ...);
}

template <size_t N>
std::string TextOf(const char (&text)[N]) {
  return PrintableAscii({text, std::find(text, text + N, '\0')});
}

// Slots of one table. All of them are made of whole machine words, and zero is a valid value of each.
template <typename Slot>
class SlotReader {
 public:
  static_assert(alignof(Slot) <= 8 && sizeof(Slot) % 8 == 0);

  SlotReader(const SegmentBytes& bytes, size_t table) : bytes_(&bytes), table_(table) {}

  // Slots [first, first + count), count <= kSlotsAtOnce; false: the bytes are not there.
  bool Read(size_t first, size_t count) {
    first_ = first;
    count_ = count;
    return ReadInto(first, count, slots_.data());
  }
  // Reads those slots again until two readings are alike; a few times at most.
  bool Settle() {
    before_ = slots_;
    if (!ReadInto(first_, count_, slots_.data())) return false;
    settled_.reset();
    for (size_t i = 0; i < count_; ++i) {
      for (int reading = 2; !IsSettled(i) && reading < kReadings; ++reading) {
        before_[i] = slots_[i];
        if (!ReadInto(first_ + i, 1, &slots_[i])) return false;
      }
      settled_[i] = IsSettled(i);
    }
    return true;
  }
  // Args: i below the count read.
  const Slot& operator[](size_t i) const { return *reinterpret_cast<const Slot*>(slots_[i].bytes); }
  const Slot& Before(size_t i) const { return *reinterpret_cast<const Slot*>(before_[i].bytes); }
  bool is_settled(size_t i) const { return settled_[i]; }

 private:
  struct Storage {
    alignas(8) std::byte bytes[sizeof(Slot)];
  };
  static_assert(sizeof(Storage) == sizeof(Slot));

  bool IsSettled(size_t i) const { return memcmp(slots_[i].bytes, before_[i].bytes, sizeof(Slot)) == 0; }
  bool ReadInto(size_t first, size_t count, Storage* to) const {
    return (*bytes_)(table_ + first * sizeof(Slot), std::as_writable_bytes(std::span(to, count)));
  }

  const SegmentBytes* bytes_;
  size_t table_;
  size_t first_ = 0;
  size_t count_ = 0;
  std::array<Storage, kSlotsAtOnce> slots_ = {};
  std::array<Storage, kSlotsAtOnce> before_ = {};
  std::bitset<kSlotsAtOnce> settled_;
};

class ContentsReader {
 public:
  explicit ContentsReader(const SegmentBytes& bytes)
      : bytes_(&bytes), communicator_in_(shm::kNumCommunicators, kNone) {}

  Result<SegmentContents> Read() {
    FL_RETURN_IF_ERROR(ReadHeader());
    const bool is_there = ReadCommunicators() && ReadOperations() && ReadConnections();
    if (!is_there) return Unavailable("the segment ends before its tables do");
    return std::move(contents_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  Status ReadHeader();
  bool ReadCommunicators();
  bool ReadOperations();
  bool ReadConnections();
  void AddCommunicator(uint32_t index, const shm::CommunicatorSlot& slot);
  void AddOperation(const shm::OperationSlot& slot);
  void AddConnection(const shm::ConnectionSlot& slot, bool is_settled);
  // Null: there is no such communicator, or it was not there yet.
  const SegmentCommunicator* FindCommunicator(uint32_t slot) const {
    const bool is_there = slot < communicator_in_.size() && communicator_in_[slot] != kNone;
    return is_there ? &contents_.communicators[communicator_in_[slot]] : nullptr;
  }

  const SegmentBytes* bytes_;
  SegmentContents contents_;
  uint32_t num_communicators_ = 0;
  uint64_t num_operations_ = 0;
  std::vector<uint32_t> communicator_in_;  // [slot] index of contents_.communicators
};

Status ContentsReader::ReadHeader() {
  SlotReader<shm::SegmentHeader> reader(*bytes_, 0);
  if (!reader.Read(0, 1)) return Unavailable("the segment ends before its header does");
  const shm::SegmentHeader& header = reader[0];
  if (header.magic != shm::kSegmentMagic) return InvalidArgument("this is no segment of the profiler plugin");
  if (header.version != shm::kSegmentVersion) {
    return InvalidArgument(fmt::format("segment: expected version {}, found {}; do plugin and agent fit together?",
                                       shm::kSegmentVersion, header.version));
  }
  if (header.bytes != sizeof(shm::ProfilerSegment)) {
    return InvalidArgument(
        fmt::format("segment: expected {} bytes, found {}", sizeof(shm::ProfilerSegment), header.bytes));
  }
  num_operations_ = Get(header.num_operations);
  num_communicators_ = std::min(Get(header.num_communicators), shm::kNumCommunicators);
  const uint64_t dropped[] = {Get(header.dropped_communicators), Get(header.dropped_operations),
                              Get(header.dropped_connections), Get(header.dropped_proxy_operations)};
  const bool is_sound = header.pid > 0 && header.global_rank >= -1 && header.global_rank < kMaxSegmentRanks &&
                        header.realtime_offset >= -kMaxSegmentNs && header.realtime_offset <= kMaxSegmentNs &&
                        AreCounts(num_operations_);
  if (!is_sound) {
    return InvalidArgument(fmt::format("segment: the header can't be: process {}, rank {}, {} operations", header.pid,
                                       header.global_rank, num_operations_));
  }
  for (const uint64_t count : dropped) contents_.num_dropped += std::min(count, kMaxSegmentCount / 4);
  contents_.pid = header.pid;
  contents_.process_start = header.process_start;
  contents_.global_rank = header.global_rank;
  contents_.job = TextOf(header.job);
  contents_.realtime_offset_ns = header.realtime_offset;
  contents_.wanted_events = Get(header.wanted_events);
  return OkStatus();
}

bool ContentsReader::ReadCommunicators() {
  SlotReader<shm::CommunicatorSlot> reader(*bytes_, offsetof(shm::ProfilerSegment, communicators));
  for (uint32_t first = 0; first < num_communicators_; first += kSlotsAtOnce) {
    const size_t count = std::min<size_t>(kSlotsAtOnce, num_communicators_ - first);
    if (!reader.Read(first, count) || !reader.Settle()) return false;
    for (uint32_t i = 0; i < count; ++i) {
      if (Get(reader[i].state) != uint32_t(shm::CommunicatorState::kFree)) AddCommunicator(first + i, reader[i]);
    }
  }
  return true;
}

void ContentsReader::AddCommunicator(uint32_t index, const shm::CommunicatorSlot& slot) {
  const bool is_finalized = Get(slot.state) == uint32_t(shm::CommunicatorState::kFinalized);
  const bool is_sound = (is_finalized || Get(slot.state) == uint32_t(shm::CommunicatorState::kLive)) &&
                        slot.num_ranks >= 0 && slot.num_ranks <= kMaxSegmentRanks && slot.rank >= -1 &&
                        slot.rank < std::max(slot.num_ranks, 1);
  if (!is_sound) {
    ++contents_.num_damaged;
    return;
  }
  SegmentCommunicator communicator{.slot = index,
                                   .id = slot.id,
                                   .name = TextOf(slot.name),
                                   .num_ranks = static_cast<uint32_t>(slot.num_ranks),
                                   .rank = slot.num_ranks == 0 ? -1 : slot.rank,
                                   .is_finalized = is_finalized,
                                   .gpu_clock_offset = std::nullopt};
  const int64_t offset = std::min(Get(slot.gpu_clock_offset[0]), Get(slot.gpu_clock_offset[1]));
  constexpr int64_t kMaxOffset = int64_t{1} << 62;
  if (offset >= -kMaxOffset && offset <= kMaxOffset) communicator.gpu_clock_offset = offset;
  communicator_in_[index] = static_cast<uint32_t>(contents_.communicators.size());
  contents_.communicators.push_back(std::move(communicator));
}

bool ContentsReader::ReadOperations() {
  SlotReader<shm::OperationSlot> reader(*bytes_, offsetof(shm::ProfilerSegment, operations));
  const auto num_slots = static_cast<size_t>(std::min<uint64_t>(num_operations_, shm::kNumOperations));
  for (size_t first = 0; first < num_slots; first += kSlotsAtOnce) {
    const size_t count = std::min(kSlotsAtOnce, num_slots - first);
    if (!reader.Read(first, count) || !reader.Settle()) return false;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t ticket = Get(reader[i].ticket);
      // A slot that changes all the time is that of one operation as long as its ticket stays.
      const bool is_whole = ticket != 0 && ticket == Get(reader.Before(i).ticket);
      if (!is_whole || ticket > num_operations_) continue;
      if ((ticket - 1) % shm::kNumOperations == first + i) {
        AddOperation(reader[i]);
      } else {
        ++contents_.num_damaged;
      }
    }
  }
  std::ranges::sort(contents_.operations, {}, &SegmentOperation::ticket);
  return true;
}

void ContentsReader::AddOperation(const shm::OperationSlot& slot) {
  const SegmentCommunicator* communicator = FindCommunicator(slot.communicator);
  if (communicator == nullptr) return;  // ended since, or was not there yet
  SegmentOperation operation{.ticket = Get(slot.ticket),
                             .communicator = slot.communicator,
                             .kind = static_cast<model::OperationKind>(slot.kind),
                             .sequence = slot.sequence,
                             .issue_index = slot.issue_index,
                             .count = slot.count,
                             .root_or_peer = slot.root_or_peer,
                             .data_type = TextOf(slot.data_type),
                             .enqueued_ns = slot.enqueued_ns,
                             .enqueue_ended_ns = Get(slot.enqueue_ended_ns),
                             .kernel_began_gpu_ns = Get(slot.kernel_began_gpu_ns),
                             .kernel_began_reported_ns = Get(slot.kernel_began_reported_ns),
                             .kernel_ended_gpu_ns = Get(slot.kernel_ended_gpu_ns),
                             .num_parts_live = Get(slot.num_parts_live),
                             .num_parts = Get(slot.num_parts),
                             .last_part_ended_ns = Get(slot.last_part_ended_ns)};
  // Where the number of ranks is unknown, any will do.
  const auto num_ranks =
      static_cast<int32_t>(communicator->num_ranks == 0 ? kMaxSegmentRanks : communicator->num_ranks);
  const bool is_transfer = IsTransfer(operation.kind);
  const bool is_sound = static_cast<size_t>(operation.kind) < model::kNumOperationKinds &&
                        AreCounts(operation.sequence, operation.issue_index, operation.count) &&
                        operation.root_or_peer >= (is_transfer ? 0 : -1) && operation.root_or_peer < num_ranks &&
                        AreInstants(operation.enqueued_ns, operation.enqueue_ended_ns,
                                    operation.kernel_began_reported_ns, operation.last_part_ended_ns);
  if (is_sound) {
    contents_.operations.push_back(std::move(operation));
  } else {
    ++contents_.num_damaged;
  }
}

bool ContentsReader::ReadConnections() {
  SlotReader<shm::ConnectionSlot> reader(*bytes_, offsetof(shm::ProfilerSegment, connections));
  for (size_t first = 0; first < shm::kNumConnections; first += kSlotsAtOnce) {
    const size_t count = std::min<size_t>(kSlotsAtOnce, shm::kNumConnections - first);
    if (!reader.Read(first, count)) return false;
    const auto is_used = [&](size_t i) { return Get(reader[i].key) > shm::kGoneConnection; };
    bool any = false;
    for (size_t i = 0; i < count; ++i) any |= is_used(i);
    if (!any) continue;
    if (!reader.Settle()) return false;
    for (size_t i = 0; i < count; ++i) {
      if (is_used(i)) AddConnection(reader[i], reader.is_settled(i));
    }
  }
  const auto key = [](const SegmentConnection& c) {
    return std::tuple(c.communicator, c.channel, c.direction, c.peer);
  };
  auto& all = contents_.connections;
  std::ranges::stable_sort(all, {}, key);
  // Not std::ranges::unique(), with a result that Clang 14 does not accept.
  const auto repeated = std::unique(
      all.begin(), all.end(), [&](const SegmentConnection& a, const SegmentConnection& b) { return key(a) == key(b); });
  contents_.num_damaged += static_cast<uint32_t>(all.end() - repeated);
  all.erase(repeated, all.end());
  return true;
}

void ContentsReader::AddConnection(const shm::ConnectionSlot& slot, bool is_settled) {
  const uint64_t key = Get(slot.key);
  const SegmentCommunicator* communicator = FindCommunicator(shm::CommunicatorOf(key));
  if (communicator == nullptr || communicator->is_finalized) return;  // ended since, or was not there yet
  SegmentConnection connection{.communicator = communicator->slot,
                               .channel = shm::ChannelOf(key),
                               .direction = shm::IsSend(key) ? model::Direction::kSend : model::Direction::kReceive,
                               .peer = shm::PeerOf(key),
                               .version = Get(slot.version) | (is_settled ? 0 : 1),
                               .num_in_flight = Get(slot.num_in_flight),
                               .messages = Get(slot.messages),
                               .bytes = Get(slot.bytes),
                               .wire_ns = Get(slot.wire_ns),
                               .wait_for_gpu_ns = Get(slot.wait_for_gpu_ns),
                               .wait_for_peer_ns = Get(slot.wait_for_peer_ns),
                               .wire_ns_max = {Get(slot.wire_ns_max[0]), Get(slot.wire_ns_max[1])},
                               .maximum_window = Get(slot.maximum_window),
                               .phase_since_ns = Get(slot.phase_since_ns),
                               .last_progress_ns = Get(slot.last_progress_ns)};
  for (size_t i = 0; i < model::kNumWireTimeBins; ++i) connection.wire_time_bins[i] = Get(slot.wire_time_bins[i]);
  const uint32_t phase = Get(slot.phase);
  const auto num_ranks = communicator->num_ranks == 0 ? uint32_t{kMaxSegmentRanks} : communicator->num_ranks;
  const bool is_sound = phase <= uint32_t(shm::TransferPhase::kReceiveWaitsForGpu) && connection.peer < num_ranks &&
                        AreCounts(connection.messages, connection.bytes) &&
                        AreInstants(connection.wire_ns, connection.wait_for_gpu_ns, connection.wait_for_peer_ns,
                                    connection.wire_ns_max[0], connection.wire_ns_max[1], connection.maximum_window,
                                    connection.phase_since_ns, connection.last_progress_ns);
  if (!is_sound) {
    ++contents_.num_damaged;
    return;
  }
  connection.phase = static_cast<model::TransferPhase>(phase);
  contents_.connections.push_back(connection);
}

static_assert(uint8_t(shm::OperationKind::kUnknown) == uint8_t(model::OperationKind::kUnknown));
static_assert(uint32_t(shm::TransferPhase::kReceiveWaitsForGpu) == uint32_t(model::TransferPhase::kReceiveWaitsForGpu));
static_assert(shm::kNumWireTimeBins == model::kNumWireTimeBins);

}  // namespace

Result<SegmentContents> ReadSegment(const SegmentBytes& bytes) { return ContentsReader(bytes).Read(); }

Result<SegmentContents> ReadSegment(std::span<const std::byte> bytes) {
  return ReadSegment([bytes](size_t offset, std::span<std::byte> to) {
    if (offset > bytes.size() || to.size() > bytes.size() - offset) return false;
    std::ranges::copy(bytes.subspan(offset, to.size()), to.begin());
    return true;
  });
}

}  // namespace fairlead::telemetry
