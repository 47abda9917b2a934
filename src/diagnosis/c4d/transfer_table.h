// The sends and receives of one communicator that are pending, by lane: all sends of a rank to a peer, or all receives
// from it.
//
// Method      transfers of a lane run in order, so three watermarks say which are pending. The other end of a lane is
//             the opposite lane of the peer, and transfers of equal sequence belong together.
// Cost        O(log lanes of the rank) a record; memory linear in lanes and pending transfers.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/collective_table.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

struct PendingTransfer {
  uint64_t bytes = 0;  // 0: unknown
  // On the host's clock; zero: unknown.
  SimTime enqueued;
  SimTime started;
};

struct Lane {
  model::OperationKind kind = model::OperationKind::kSend;  // or kReceive
  uint32_t peer = 0;                                        // rank of the communicator
  uint32_t serial = 0;                                      // of the latest report that spoke of it
  bool is_known = false;
  // Sequences below are at that stage at least, as reported.
  uint64_t enqueued = 0;
  uint64_t started = 0;
  uint64_t finished = 0;
  // On the master's clock: when the oldest pending transfer became pending, as far as known.
  SimTime since;
  std::vector<PendingTransfer> pending;  // from `finished` on

  bool is_pending() const { return enqueued > finished; }
  // The oldest transfer that may be under way: one that has started has seen those before it finish.
  uint64_t oldest() const { return started > finished ? started - 1 : finished; }
  Stage StageOf(uint64_t sequence) const {
    if (sequence < oldest()) return Stage::kFinished;
    if (sequence < started) return Stage::kStarted;
    return sequence < enqueued ? Stage::kEnqueued : Stage::kAbsent;
  }
  // Nothing: finished, not enqueued, or too far ahead of the oldest one to be kept.
  const PendingTransfer* Find(uint64_t sequence) const {
    return sequence < finished || sequence - finished >= pending.size() ? nullptr : &pending[sequence - finished];
  }
};

class TransferTable {
 public:
  struct Outcome {
    bool is_news = false;
    bool contradicts = false;
    bool deviates = false;  // the other end sends or expects another number of bytes
    uint64_t finished = 0;  // transfers that have become known to be
  };

  explicit TransferTable(uint32_t num_ranks) : lanes_(num_ranks) {}

  // Args: record of a send or receive; positions of its rank and peer in the communicator.
  Outcome Add(uint32_t position, uint32_t peer, const model::OperationRecord& record, const RecordContext& context);

  // Args: how far the rank at that position says it is with its sends to, or receives from, that peer; `context`:
  // `advanced` is when it was reported. Bytes never deviate.
  Outcome AddProgress(uint32_t position, uint32_t peer, const model::ProgressRecord& progress,
                      const RecordContext& context);

  // Lanes of a rank of the communicator.
  const std::vector<Lane>& lanes(uint32_t position) const { return lanes_[position]; }
  // The lane at the other end; nothing if that rank has never spoken of it.
  const Lane* Opposite(uint32_t position, const Lane& lane) const;
  uint32_t num_pending_lanes() const { return num_pending_lanes_; }

 private:
  // Raises the watermarks of the lane, and fills in `is_news` and `finished`.
  void Advance(Lane* lane, const std::array<uint64_t, 3>& to, const RecordContext& context, Outcome* outcome);
  Lane& FindOrAdd(uint32_t position, model::OperationKind kind, uint32_t peer);
  const Lane* Find(uint32_t position, model::OperationKind kind, uint32_t peer) const;
  bool NotePending(Lane* lane, const model::OperationRecord& record);

  uint32_t num_pending_lanes_ = 0;
  std::vector<std::vector<Lane>> lanes_;  // [rank of the communicator], ascending kind and peer
};

}  // namespace fairlead::diagnosis::c4d
