// What has happened in a training process since the look before, from looks at its segment (segment_reader.h).
//
// Problem     the segment holds sums since the process began and the latest operations. The diagnosis wants
//             differences, each operation until it is reported as finished, and to know which operations are over,
//             although the library tells only of their parts, and of some operations nothing after they were enqueued.
// Method      an operation is over when
//               - parts have begun, none is under way, it has been enqueued, and nothing came after for kSettleNs
//               - it is of a communicator of one rank, which launches no kernels, or that has been finalized
//               - it has no parts, and no kernel of its communicator was ever reported (kUnreportedNs)
//               - one that was enqueued kLaunchNs later has finished: kernels of a communicator run in turn, but those
//                 of one launch together (then no instants are reported)
//             and all before it on its communicator (sends and receives: and peer) are; until then it is reported as
//             pending, since for the diagnosis a finished operation ends those before. Operations that came and went
//             between two looks are counted by the numbers of others. An instant of the GPU is the host's by the least
//             difference seen, and no later than its report.
// Cost        a look: linear in the contents, times a logarithm. Memory: 128 KiB, and linear in connections.
// Guarantees  sums over looks are the sums of the segment, however many looks there were. Counts of progress never fall
//             and are in order; as many operations are reported as pending as they count. Ids of a report are in range,
//             and nothing appears twice in it.
// Limits      operations of a CUDA graph are pending from its capture to its first launch, and over after that.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "telemetry/process_report.h"
#include "telemetry/segment_reader.h"

namespace fairlead::telemetry {

inline constexpr int64_t kSettleNs = 10'000'000;
inline constexpr int64_t kLaunchNs = 100'000'000;
inline constexpr int64_t kUnreportedNs = int64_t{30} * 1'000'000'000;

struct SegmentTrackerOptions {
  // Added to CLOCK_MONOTONIC: what the report calls the host's clock. One for all processes of a host. Within +-2^61 ns.
  SimDuration clock_offset;
  // The process ran before the first look: its past is not reported. False: the first report tells all since it began.
  bool skips_past = false;
};

class SegmentTracker {
 public:
  explicit SegmentTracker(const SegmentTrackerOptions& options);

  // What has happened since the look before. Another process than before starts again. Args: at: when the contents were
  // read, CLOCK_MONOTONIC in ns, 0..kMaxSegmentNs; not before the look before.
  ProcessReport Look(const SegmentContents& contents, int64_t at_ns);

 private:
  // Operations of a communicator that run one after the other: collectives (kind kUnknown), or sends to or receives from
  // one peer.
  struct LaneKey {
    model::OperationKind kind = model::OperationKind::kUnknown;
    uint32_t peer = 0;
    auto operator<=>(const LaneKey&) const = default;
  };
  struct LaneItem {
    const SegmentOperation* operation = nullptr;
    bool is_over = false;
  };
  struct Lane {
    uint64_t enqueued = 0;
    std::vector<LaneItem> items;  // of one look
  };
  using EndKey = std::tuple<uint8_t, model::Direction, uint32_t>;  // channel, direction, peer
  // Operations of a group are one launch of a kernel, and are being enqueued at the same time.
  struct Launch {
    int64_t from_ns = 0;
    int64_t to_ns = 0;  // before from_ns: not yet known
    bool Overlaps(const Launch& other) const { return from_ns <= other.to_ns && other.from_ns <= to_ns; }
  };
  struct Communicator {
    SegmentCommunicator is;
    bool tells_kernels = false;
    uint64_t num_issued = 0;             // operations of any kind, as far as seen
    std::vector<Launch> begun_launches;  // whose kernels have begun, as far as not reported twice
    std::map<LaneKey, Lane> lanes;
    std::map<EndKey, SegmentConnection> ends;  // as they were when their sums were reported
    std::map<EndKey, uint32_t> torn;           // versions at the look before
  };
  struct OperationState {
    uint64_t ticket = 0;
    uint8_t times_reported = 0;  // as over
  };
  static constexpr uint8_t kTimesToTell = 2;  // so that a report may be lost

  void StartAnew(const SegmentContents& contents);
  void FollowCommunicators(const SegmentContents& contents, ProcessReport* report);
  void FollowOperations(const SegmentContents& contents);
  void FollowConnections(const SegmentContents& contents, ProcessReport* report);
  bool IsOver(const Communicator& communicator, const SegmentOperation& operation) const;
  // Whether its kernel has begun. NCCL hands an operation to its proxies when it is enqueued, so that they have begun
  // says nothing, unless kernels are not told of. And of those of a launch that share a channel it tells one after the
  // other, each when the one before has ended: if one has begun, so have all.
  bool HasBegun(const Communicator& communicator, const SegmentOperation& operation) const;
  static void AddLaunch(Launch launch, std::vector<Launch>* launches);
  bool TellsKernels(const Communicator& communicator) const { return communicator.tells_kernels && may_tell_kernels_; }
  void TellLanes(Communicator* communicator, model::CommunicatorId id, ProcessReport* report);
  model::ProgressRecord TellLane(const Communicator& communicator, const LaneKey& key, Lane* lane,
                                 model::CommunicatorId id, ProcessReport* report);
  void TellOperation(const model::OperationRecord& record, ProcessReport* report);
  model::OperationRecord ToRecord(const Communicator& communicator, const SegmentOperation& operation,
                                  model::CommunicatorId id, bool is_over) const;
  model::ConnectionRecord TellConnection(Communicator* communicator, const SegmentConnection& now);
  OperationState& StateOf(const SegmentOperation& operation) {
    return states_[(operation.ticket - 1) % shm::kNumOperations];
  }
  SimTime HostTime(int64_t ns) const { return SimTime(ns) + options_.clock_offset; }

  SegmentTrackerOptions options_;
  std::optional<std::pair<int32_t, uint64_t>> process_;
  bool skips_ = false;             // in this look
  bool may_tell_kernels_ = false;  // likewise
  uint64_t number_ = 0;            // of the next report
  int64_t at_ns_ = 0;              // of this look, and of those before
  int64_t before_ns_ = 0;
  std::optional<SimTime> since_;                    // of the look before the look before
  std::map<uint32_t, Communicator> communicators_;  // by slot
  std::map<uint32_t, model::CommunicatorId> place_in_report_;
  std::vector<OperationState> states_;  // [slot]
  // Operations in this report: communicator, kind, sequence, peer.
  std::set<std::tuple<model::CommunicatorId, model::OperationKind, uint64_t, model::RankId>> reported_;
};

}  // namespace fairlead::telemetry
