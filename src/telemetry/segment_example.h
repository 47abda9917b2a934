// For tests of what reads segments: segments written by hand, and what must hold of whatever is read.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "shm/profiler_segment.h"
#include "telemetry/segment_reader.h"
#include "telemetry/segment_tracker.h"

namespace fairlead::telemetry {

inline constexpr int64_t kExampleSecond = 1'000'000'000;

// The segment of a process that nothing has happened in, written as the plugin does.
class HandMadeSegment {
 public:
  HandMadeSegment() : segment_(std::make_unique<shm::ProfilerSegment>()) {
    shm::SegmentHeader& header = segment_->header;
    header.magic = shm::kSegmentMagic;
    header.version = shm::kSegmentVersion;
    header.bytes = sizeof(shm::ProfilerSegment);
    header.pid = 4711;
    header.process_start = 99;
    header.global_rank = -1;
    strcpy(header.job, "gpt");
  }

  shm::ProfilerSegment& operator*() { return *segment_; }
  shm::ProfilerSegment* operator->() { return segment_.get(); }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(segment_.get(), 1)); }
  SegmentContents Read() { return ReadSegment(bytes()).value(); }

  shm::CommunicatorSlot& AddCommunicator(uint64_t id, int32_t num_ranks, int32_t rank) {
    const uint32_t index = segment_->header.num_communicators++;
    shm::CommunicatorSlot& slot = segment_->communicators[index];
    slot.id = id;
    slot.num_ranks = num_ranks;
    slot.rank = rank;
    strcpy(slot.name, "data");
    for (auto& offset : slot.gpu_clock_offset) offset = shm::kNoClockOffset;
    slot.state = uint32_t(shm::CommunicatorState::kLive);
    return slot;
  }

  // The next operation of the communicator in that slot, enqueued at that moment, without parts.
  shm::OperationSlot& AddOperation(uint16_t communicator, uint64_t sequence, int64_t at_ns,
                                   shm::OperationKind kind = shm::OperationKind::kAllReduce, int32_t peer = 0) {
    const uint64_t ticket = ++segment_->header.num_operations;
    shm::OperationSlot& slot = segment_->operations[(ticket - 1) % shm::kNumOperations];
    slot.sequence = sequence;
    slot.issue_index = segment_->communicators[communicator].num_operations++;
    slot.count = 1000;
    slot.communicator = communicator;
    slot.kind = kind;
    slot.root_or_peer = peer;
    strcpy(slot.data_type, "ncclBfloat16");
    slot.enqueued_ns = at_ns;
    slot.enqueue_ended_ns = at_ns + 10;
    slot.kernel_began_gpu_ns = slot.kernel_ended_gpu_ns = 0;
    slot.kernel_began_reported_ns = slot.last_part_ended_ns = 0;
    slot.num_parts = slot.num_parts_live = 0;
    slot.ticket = ticket;
    return slot;
  }
  static void BeginKernel(shm::OperationSlot& slot, int64_t gpu_ns, int64_t reported_ns) {
    slot.kernel_began_gpu_ns = static_cast<uint64_t>(gpu_ns);
    slot.kernel_began_reported_ns = reported_ns;
    ++slot.num_parts;
    ++slot.num_parts_live;
  }
  static void EndKernel(shm::OperationSlot& slot, int64_t gpu_ns, int64_t reported_ns) {
    slot.kernel_ended_gpu_ns = static_cast<uint64_t>(gpu_ns);
    slot.last_part_ended_ns = reported_ns;
    --slot.num_parts_live;
  }

  shm::ConnectionSlot& ConnectionAt(uint32_t place, uint16_t communicator, bool is_send, uint32_t peer,
                                    uint8_t channel = 0) {
    shm::ConnectionSlot& slot = segment_->connections[place];
    slot.key = shm::PackConnection(communicator, channel, is_send, peer);
    return slot;
  }

 private:
  std::unique_ptr<shm::ProfilerSegment> segment_;
};

// Args: bytes of a whole segment.
inline void PutSegmentHeader(std::span<std::byte> bytes) {
  HandMadeSegment segment;
  segment->header.num_communicators = 4;
  segment->header.num_operations = 20'000;
  for (int i = 0; i < 3; ++i) segment->communicators[i].state = uint32_t(shm::CommunicatorState::kLive);
  for (int i = 0; i < 3; ++i) segment->communicators[i].num_ranks = 8 >> i;
  memcpy(bytes.data(), segment.bytes().data(), sizeof(shm::SegmentHeader));
  memcpy(bytes.data() + offsetof(shm::ProfilerSegment, communicators), segment->communicators,
         4 * sizeof(shm::CommunicatorSlot));
}

// What of the contents is out of the stated bounds; empty: nothing.
inline std::string FindFault(const SegmentContents& contents) {
  const auto is_instant = [](int64_t ns) { return ns >= 0 && ns <= kMaxSegmentNs; };
  std::set<uint32_t> slots;
  for (const SegmentCommunicator& c : contents.communicators) {
    if (!slots.insert(c.slot).second || c.slot >= shm::kNumCommunicators) return "slot of a communicator";
    const bool is_sound = c.num_ranks <= uint32_t{kMaxSegmentRanks} &&
                          (c.num_ranks == 0 ? c.rank == -1 : c.rank < static_cast<int32_t>(c.num_ranks));
    if (!is_sound) return "ranks of a communicator";
    for (const char letter : c.name) {
      if (letter < ' ' || letter > '~') return "name of a communicator";
    }
  }
  uint64_t ticket = 0;
  for (const SegmentOperation& o : contents.operations) {
    if (o.ticket <= ticket || !slots.contains(o.communicator)) return "ticket or communicator of an operation";
    ticket = o.ticket;
    const bool is_sound = is_instant(o.enqueued_ns) && is_instant(o.enqueue_ended_ns) &&
                          is_instant(o.kernel_began_reported_ns) && is_instant(o.last_part_ended_ns) &&
                          o.count <= kMaxSegmentCount && o.root_or_peer >= -1 && o.root_or_peer < kMaxSegmentRanks;
    if (!is_sound) return "values of an operation";
  }
  std::set<std::tuple<uint32_t, uint8_t, model::Direction, uint32_t>> ends;
  for (const SegmentConnection& c : contents.connections) {
    if (!slots.contains(c.communicator)) return "communicator of a connection";
    if (!ends.emplace(c.communicator, c.channel, c.direction, c.peer).second) return "a connection appears twice";
    const bool is_sound = is_instant(c.wire_ns) && is_instant(c.wait_for_gpu_ns) && is_instant(c.wait_for_peer_ns) &&
                          is_instant(c.phase_since_ns) && c.messages <= kMaxSegmentCount &&
                          c.peer < uint32_t{kMaxSegmentRanks};
    if (!is_sound) return "values of a connection";
  }
  return "";
}

// What of the report does not fit together; empty: nothing.
inline std::string FindFault(const ProcessReport& report) {
  const auto& communicators = report.communicators;
  const auto num_ranks = [&](model::CommunicatorId id) {
    return id.valid() && id.index() < communicators.size() ? communicators[id.index()].num_ranks : 0;
  };
  std::map<std::tuple<model::CommunicatorId, model::OperationKind, model::RankId>, const model::ProgressRecord*> lanes;
  for (const model::ProgressRecord& p : report.progress) {
    if (num_ranks(p.communicator) == 0) return "communicator of progress";
    if (p.peer.valid() && p.peer.value() >= num_ranks(p.communicator)) return "peer of progress";
    if (!lanes.emplace(std::tuple(p.communicator, p.kind, p.peer), &p).second) return "progress appears twice";
    if (p.finished > p.started || p.started > p.enqueued) return "progress is not in order";
  }
  std::set<std::tuple<model::CommunicatorId, model::OperationKind, uint64_t, model::RankId>> seen;
  for (const model::OperationRecord& o : report.operations) {
    if (num_ranks(o.communicator) == 0) return "communicator of an operation";
    if (o.peer.valid() && o.peer.value() >= num_ranks(o.communicator)) return "peer of an operation";
    if (!seen.emplace(o.communicator, o.kind, o.sequence, o.peer).second) return "an operation appears twice";
    if (o.started && *o.started < o.enqueued) return "an operation started early";
    if (o.finished && (!o.started || *o.finished < *o.started)) return "an operation finished early";
    const auto kind = o.peer.valid() ? o.kind : model::OperationKind::kUnknown;
    if (!lanes.contains(std::tuple(o.communicator, kind, o.peer))) return "an operation without progress";
  }
  std::set<model::ConnectionKey> keys;
  uint32_t busy = 0;
  for (const model::ConnectionRecord& c : report.connections) {
    if (c.key.peer.value() >= num_ranks(c.key.communicator)) return "key of a connection";
    if (!keys.insert(c.key).second) return "a connection appears twice";
    const SimDuration durations[] = {c.wire_time, c.wire_time_max, c.wait_for_gpu, c.wait_for_peer};
    for (const SimDuration duration : durations) {
      if (duration < SimDuration()) return "a duration is negative";
    }
    busy += c.phase != model::TransferPhase::kIdle ? 1 : 0;
  }
  return busy == report.busy_connections ? "" : fmt::format("{} busy connections", busy);
}

}  // namespace fairlead::telemetry
