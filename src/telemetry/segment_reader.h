// Content of the segment of a profiler plugin (shm/profiler_segment.h), as plain values.
//
// Problem     the segment is written by a training process, without locks, while it is read; that process may have been
//             stopped or killed in the middle of a write, and its user may have put anything there.
// Method      bytes come through a function that copies them (pread() of the file: a mapping would kill the reader with
//             SIGBUS when the file is cut short, and its bytes would change under him). Each slot is read until two
//             readings in a row are alike, a few times at most. Operations count from 1 to the number in the header as
//             read before: operations that begin meanwhile are for the next time.
// Cost        linear in operations under way or remembered (8,192 at most), plus the keys of all connections, which are
//             spread over their table; two readings of each piece of the tables that is in use.
// Guarantees  any bytes give values within the bounds below, or an error. What is out of bounds is left out, and
//             counted.
// Oracle      segment_reader_fuzz.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/telemetry.h"
#include "shm/profiler_segment.h"

namespace fairlead::telemetry {

// Copies the segment's bytes from `offset` on; false: they are not there (any more).
using SegmentBytes = std::function<bool(size_t offset, std::span<std::byte> to)>;

// Bounds of all values: instants and sums of durations 0..2^61 ns, other sums 0..2^62, ranks below 2^20.
inline constexpr int64_t kMaxSegmentNs = int64_t{1} << 61;
inline constexpr uint64_t kMaxSegmentCount = uint64_t{1} << 62;
inline constexpr int32_t kMaxSegmentRanks = 1 << 20;

// Instants are CLOCK_MONOTONIC of the host in nanoseconds; 0: not yet. Texts are printable ASCII.

struct SegmentCommunicator {
  uint32_t slot = 0;  // below shm::kNumCommunicators; ascending
  uint64_t id = 0;
  std::string name;
  uint32_t num_ranks = 0;  // 0: the library does not tell (NCCL before 2.27)
  int32_t rank = -1;       // below num_ranks; -1: likewise
  bool is_finalized = false;
  // To be added to instants of the GPU; within +-2^62. Nothing: none has been seen.
  std::optional<int64_t> gpu_clock_offset;
};

struct SegmentOperation {
  uint64_t ticket = 0;        // >= 1
  uint32_t communicator = 0;  // slot of one of the communicators
  model::OperationKind kind = model::OperationKind::kUnknown;
  uint64_t sequence = 0;
  uint64_t issue_index = 0;
  uint64_t count = 0;
  int32_t root_or_peer = -1;  // rank of the communicator where its size is known; never -1 of sends and receives
  std::string data_type;
  int64_t enqueued_ns = 0;
  int64_t enqueue_ended_ns = 0;
  uint64_t kernel_began_gpu_ns = 0;
  int64_t kernel_began_reported_ns = 0;
  uint64_t kernel_ended_gpu_ns = 0;
  uint32_t num_parts_live = 0;
  uint32_t num_parts = 0;
  int64_t last_part_ended_ns = 0;
};

struct SegmentConnection {
  uint32_t communicator = 0;  // slot of one of the communicators
  uint8_t channel = 0;
  model::Direction direction = model::Direction::kSend;
  uint32_t peer = 0;  // rank of the communicator
  // Odd: it was being changed all the time; each value is correct separately.
  uint32_t version = 0;
  uint32_t num_in_flight = 0;
  uint64_t messages = 0;
  uint64_t bytes = 0;
  int64_t wire_ns = 0;
  int64_t wait_for_gpu_ns = 0;
  int64_t wait_for_peer_ns = 0;
  int64_t wire_ns_max[2] = {};
  int64_t maximum_window = 0;
  std::array<uint32_t, model::kNumWireTimeBins> wire_time_bins = {};
  model::TransferPhase phase = model::TransferPhase::kIdle;
  int64_t phase_since_ns = 0;
  int64_t last_progress_ns = 0;
};

struct SegmentContents {
  int32_t pid = 0;
  uint64_t process_start = 0;
  int32_t global_rank = -1;
  std::string job;
  int64_t realtime_offset_ns = 0;  // within +-kMaxSegmentNs
  uint32_t wanted_events = 0;
  uint64_t num_dropped = 0;  // what found no place in the tables
  std::vector<SegmentCommunicator> communicators;
  std::vector<SegmentOperation> operations;    // ascending tickets
  std::vector<SegmentConnection> connections;  // no two are the same
  uint32_t num_damaged = 0;                    // slots with values that can't be
};

// Errors: kUnavailable where bytes are missing, kInvalidArgument where the header is not one, and says why.
Result<SegmentContents> ReadSegment(const SegmentBytes& bytes);

// Of a copy that is not changed.
Result<SegmentContents> ReadSegment(std::span<const std::byte> bytes);

}  // namespace fairlead::telemetry
