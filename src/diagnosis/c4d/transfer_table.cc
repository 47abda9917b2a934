#include "diagnosis/c4d/transfer_table.h"

#include <algorithm>
#include <tuple>

namespace fairlead::diagnosis::c4d {
namespace {

using model::OperationKind;

constexpr uint64_t kMaxLeap = 1 << 20;

OperationKind OppositeOf(OperationKind kind) {
  return kind == OperationKind::kSend ? OperationKind::kReceive : OperationKind::kSend;
}

bool Precedes(const Lane& lane, const std::tuple<OperationKind, uint32_t>& key) {
  return std::tuple(lane.kind, lane.peer) < key;
}

}  // namespace

TransferTable::Outcome TransferTable::Add(uint32_t position, uint32_t peer, const model::OperationRecord& record,
                                          const RecordContext& context) {
  Outcome outcome;
  Lane& lane = FindOrAdd(position, record.kind, peer);
  const uint64_t after = record.sequence + 1;
  const bool is_ordered = (!record.started || *record.started >= record.enqueued) &&
                          (!record.finished || (record.started && *record.finished >= *record.started));
  if (!is_ordered || (lane.is_known && record.sequence > lane.enqueued + kMaxLeap)) {
    outcome.contradicts = true;
    return outcome;
  }
  // The first record of a lane need not be of its first transfer: what was before is not pending.
  if (!lane.is_known) lane.enqueued = lane.started = lane.finished = record.sequence;
  lane.is_known = true;
  outcome.contradicts = !NotePending(&lane, record);
  Advance(&lane, {after, record.started ? after : 0, record.finished ? after : 0}, context, &outcome);
  const Lane* opposite = Opposite(position, lane);
  const PendingTransfer* theirs = opposite == nullptr ? nullptr : opposite->Find(record.sequence);
  const bool is_disputed =
      theirs != nullptr && theirs->bytes != 0 && record.bytes != 0 && theirs->bytes != record.bytes;
  outcome.deviates = is_disputed && !record.finished;
  return outcome;
}

TransferTable::Outcome TransferTable::AddProgress(uint32_t position, uint32_t peer,
                                                  const model::ProgressRecord& progress, const RecordContext& context) {
  Outcome outcome;
  Lane& lane = FindOrAdd(position, progress.kind, peer);
  const bool is_ordered = progress.finished <= progress.started && progress.started <= progress.enqueued;
  if (!is_ordered || (lane.is_known && progress.enqueued > lane.enqueued + kMaxLeap)) {
    outcome.contradicts = true;
    return outcome;
  }
  if (!lane.is_known) lane.enqueued = lane.started = lane.finished = progress.finished;
  lane.is_known = true;
  Advance(&lane, {progress.enqueued, progress.started, progress.finished}, context, &outcome);
  return outcome;
}

void TransferTable::Advance(Lane* lane, const std::array<uint64_t, 3>& to, const RecordContext& context,
                            Outcome* outcome) {
  const bool was_pending = lane->is_pending();
  const std::array<uint64_t, 3> before = {lane->enqueued, lane->started, lane->finished};
  lane->enqueued = std::max(lane->enqueued, to[0]);
  lane->started = std::max(lane->started, to[1]);
  lane->finished = std::max(lane->finished, to[2]);
  outcome->is_news = before != std::array<uint64_t, 3>{lane->enqueued, lane->started, lane->finished};
  outcome->finished = lane->finished - before[2];
  if (outcome->finished > 0) {
    const auto num_ended = static_cast<ptrdiff_t>(std::min<uint64_t>(outcome->finished, lane->pending.size()));
    lane->pending.erase(lane->pending.begin(), lane->pending.begin() + num_ended);
  }
  if (outcome->is_news) lane->serial = std::max(lane->serial, context.serial);
  if (lane->is_pending() && (!was_pending || outcome->finished > 0)) {
    lane->since = outcome->finished > 0 ? context.advanced : context.enqueued;
  }
  num_pending_lanes_ += (lane->is_pending() ? 1u : 0u) - (was_pending ? 1u : 0u);
}

const Lane* TransferTable::Opposite(uint32_t position, const Lane& lane) const {
  return Find(lane.peer, OppositeOf(lane.kind), position);
}

Lane& TransferTable::FindOrAdd(uint32_t position, OperationKind kind, uint32_t peer) {
  std::vector<Lane>& lanes = lanes_[position];
  const auto lane = std::lower_bound(lanes.begin(), lanes.end(), std::tuple(kind, peer), Precedes);
  if (lane != lanes.end() && lane->kind == kind && lane->peer == peer) return *lane;
  Lane& added = *lanes.insert(lane, Lane());
  added.kind = kind;
  added.peer = peer;
  return added;
}

const Lane* TransferTable::Find(uint32_t position, OperationKind kind, uint32_t peer) const {
  const std::vector<Lane>& lanes = lanes_[position];
  const auto lane = std::lower_bound(lanes.begin(), lanes.end(), std::tuple(kind, peer), Precedes);
  return lane == lanes.end() || lane->kind != kind || lane->peer != peer ? nullptr : &*lane;
}

bool TransferTable::NotePending(Lane* lane, const model::OperationRecord& record) {
  if (record.finished || record.sequence < lane->finished) return true;
  const uint64_t index = record.sequence - lane->finished;
  // Of many pending transfers of one lane only the oldest are kept.
  constexpr uint64_t kMaxPending = 64;
  if (index >= kMaxPending) return true;
  if (lane->pending.size() <= index) lane->pending.resize(index + 1);
  PendingTransfer& pending = lane->pending[index];
  const bool agrees = pending.bytes == 0 || record.bytes == 0 || pending.bytes == record.bytes;
  pending.bytes = agrees ? std::max(pending.bytes, record.bytes) : 0;
  pending.enqueued = record.enqueued;
  if (record.started) pending.started = *record.started;
  return agrees;
}

}  // namespace fairlead::diagnosis::c4d
