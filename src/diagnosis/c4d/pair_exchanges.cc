#include "diagnosis/c4d/pair_exchanges.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {

PairExchanges::PairExchanges(const model::JobLayout& layout)
    : layout_(layout), communicators_(layout.communicators.size()) {}

void PairExchanges::Add(const model::RankReport& report, const Sink& sink) {
  touched_.clear();
  for (const model::OperationRecord& record : report.operations) {
    const bool is_pair = IsTransfer(record.kind);
    if (is_pair && record.started && record.finished && *record.started <= *record.finished) {
      Add(report.rank, record, sink);
    }
  }
  for (const model::CommunicatorId id : touched_) Sort(communicators_[id.index()], report.rank);
}

void PairExchanges::Add(model::RankId rank, const model::OperationRecord& record, const Sink& sink) {
  if (!record.communicator.valid() || record.communicator.index() >= communicators_.size()) return;
  Communicator& communicator = communicators_[record.communicator.index()];
  if (communicator.is_none) return;
  const std::vector<model::RankId>& members = layout_.communicators[record.communicator.index()].ranks;
  if (communicator.positions.empty()) {
    for (uint32_t i = 0; i < members.size(); ++i) communicator.positions.emplace(members[i], i);
    communicator.ranks.resize(members.size());
  }
  const auto own = communicator.positions.find(rank);
  const auto peer = communicator.positions.find(record.peer);
  if (own == communicator.positions.end() || peer == communicator.positions.end() || own == peer) return;
  if (!IsNew(communicator.ranks[own->second], peer->second, record)) return;
  if (touched_.empty() || touched_.back() != record.communicator) touched_.push_back(record.communicator);
  AddMember(rank, own->second, record, sink);
}

bool PairExchanges::IsNew(Rank& rank, uint32_t peer, const model::OperationRecord& record) {
  uint64_t& lane = rank.lanes[2 * peer + (record.kind == model::OperationKind::kReceive ? 1 : 0)];
  if (record.sequence < lane) return false;
  lane = record.sequence + 1;
  rank.first = std::min(rank.first, record.sequence);
  rank.latest = std::max(rank.latest, record.sequence);
  return true;
}

void PairExchanges::AddMember(model::RankId rank, uint32_t position, const model::OperationRecord& record,
                              const Sink& sink) {
  Communicator& communicator = communicators_[record.communicator.index()];
  const size_t num_ranks = communicator.ranks.size();
  auto& pending = communicator.ranks[position].pending;
  Member& member = pending[record.sequence];
  ++member.operations;
  member.enqueued = std::min(member.enqueued, record.enqueued);
  member.first_started = std::min(member.first_started, *record.started);
  member.last_started = std::max(member.last_started, *record.started);
  member.first_finished = std::min(member.first_finished, *record.finished);
  member.last_finished = std::max(member.last_finished, *record.finished);
  if (member.operations < 2 * (num_ranks - 1)) {
    if (pending.size() > kMaxOpen) pending.erase(pending.begin());
    return;
  }
  const Member whole = member;
  pending.erase(record.sequence);
  if (whole.last_started >= whole.first_finished) {
    ++communicator.num_apart;
    return;
  }
  Open& open = communicator.open[record.sequence];
  open.ranks.resize(num_ranks);
  open.ranks[position] = {rank, whole.enqueued, whole.first_started, whole.last_finished};
  if (++open.num_reported == num_ranks) {
    communicator.has_exchanges = true;
    sink({record.communicator, model::OperationKind::kAllToAll, record.sequence, 0, open.ranks});
    communicator.open.erase(record.sequence);
  } else if (communicator.open.size() > kMaxOpen) {
    communicator.open.erase(communicator.open.begin());
  }
}

void PairExchanges::Sort(Communicator& communicator, model::RankId rank) const {
  if (communicator.has_exchanges || communicator.is_none) return;
  const Rank& own = communicator.ranks[communicator.positions.at(rank)];
  const bool meets_some = own.latest - own.first >= kMeetings && own.lanes.size() < 2 * (communicator.ranks.size() - 1);
  if (!meets_some && communicator.num_apart < kApartMax) return;
  communicator = {};
  communicator.is_none = true;
}

}  // namespace fairlead::diagnosis::c4d
