// How long did each rank take by itself in each block of iterations?
//
// Problem     ranks are compared iteration by iteration, so that what all have in common (a longer batch, a slower
//             phase) is no matter. No record says where an iteration ends.
// Notation    lane: the operations of one kind on one communicator, and with one peer; its sequence numbers are the
//             same on all ranks that do the same
// Method      for each rank the lane with the fewest operations, but a few at least: gradients, not tensors. Of other
//             lanes of its communicator that come in bursts, one whose bursts are less apart: some operations are of
//             several iterations. Where operations come in bursts, a block ends with a burst. A block is a multiple of
//             that, of a least length, and ends where the sequence divides by the number of operations: so blocks of
//             equal index are the same iterations on all ranks, whatever reports are lost. A group of ranks shares that
//             number.
// Cost        O(1) an output; memory linear in the lanes of a rank.
// Guarantees  a block in which a gap is unknown is not reported.
// Reference   docs/papers/c4.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/sim_time.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

// What a rank did by itself in a block.
struct BlockSample {
  uint32_t rank = 0;
  uint64_t index = 0;
  double own_seconds = 0;
  double host_seconds = 0;  // of that, before operations were enqueued
  double span_seconds = 0;  // of the block
};

class IterationBlocks {
 public:
  explicit IterationBlocks(size_t num_ranks) : ranks_(num_ranks) {}

  // An output of the rank at `index` (own_time.h), in order. Args: own_seconds, host_seconds: since the latest output or
  // input; nothing: unknown.
  void AddOutput(size_t index, const model::OperationRecord& operation, SimTime at, std::optional<double> own_seconds,
                 double host_seconds);

  // Outputs of the rank are missing here.
  void Break(size_t rank) { ranks_[rank].is_whole = false; }

  // Cuts blocks from now on, if the ranks have done enough to tell where; what was learned of most is used for the others
  // as soon as they have done enough, too. Args: ranks that do the same. Cost: O(ranks), once they are known.
  void Learn(const std::vector<uint32_t>& ranks);
  // Whether blocks of the rank are cut.
  bool IsKnown(size_t rank) const { return ranks_[rank].marker.has_value(); }

  // Whole blocks since the call before, of each rank in order.
  std::vector<BlockSample> Take();

 private:
  static constexpr size_t kStartsKept = 48;
  static constexpr size_t kLanesMax = 64;
  struct Lane {
    model::CommunicatorId communicator;
    model::OperationKind kind = model::OperationKind::kUnknown;
    model::RankId peer;
    uint64_t count = 0;
    std::array<SimTime, kStartsKept> starts = {};  // a ring
  };
  struct Rank {
    std::vector<Lane> lanes;
    std::optional<Lane> marker;  // once it is learned
    uint64_t per_block = 1;      // operations of the marker
    // The block under way; nothing: its begin is not known.
    std::optional<SimTime> begin;
    uint64_t index = 0;
    bool is_whole = true;
    BlockSample sum;
    std::optional<SimTime> first;
    SimTime latest;
  };

  // A lane, and how its operations come.
  struct Marker {
    const Lane* lane = nullptr;  // null: none
    uint64_t burst = 1;          // operations that come together
    double seconds = 0;          // from one burst to the next
  };
  static Marker FindMarker(const Rank& rank);
  // Of that kind, if one is given; null: none has a few.
  static const Lane* FindFewest(const Rank& rank, std::optional<model::OperationKind> kind);
  static Marker Describe(const Lane& lane);
  static uint64_t BurstOf(const std::vector<double>& gaps);
  static std::vector<double> GapsOf(const Lane& lane);
  static void Adopt(model::OperationKind kind, uint64_t per_block, Rank* rank);
  void LearnFromMost(const std::vector<uint32_t>& ranks);
  void Cut(Rank& rank, uint64_t index, SimTime at);

  std::vector<Rank> ranks_;
  std::vector<BlockSample> samples_;
};

}  // namespace fairlead::diagnosis::c4d
