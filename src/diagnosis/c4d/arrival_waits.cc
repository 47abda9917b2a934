#include "diagnosis/c4d/arrival_waits.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace fairlead::diagnosis::c4d {

ArrivalWaits::ArrivalWaits(const model::JobLayout& layout)
    : layout_(layout), communicators_(layout.communicators.size()), ranks_(layout.ranks.size()) {}

void ArrivalWaits::Add(const model::RankReport& report) {
  if (report.rank.index() >= ranks_.size()) return;
  Rank& rank = ranks_[report.rank.index()];
  if (rank.newest.has_value() && report.number <= *rank.newest) {
    // A count that begins again belongs to another process.
    if (report.at > rank.newest_at) rank = {};
    return;
  }
  const bool is_next = rank.newest.has_value() && report.number == *rank.newest + 1 && report.at > rank.newest_at;
  const SimTime since = std::exchange(rank.newest_at, report.at);
  rank.newest = report.number;
  CountOperations(rank, report);
  if (!is_next) return;
  rank.seen_seconds += (report.at - since).seconds().value();
  AddArrivals(rank, report);
}

void ArrivalWaits::CountOperations(Rank& rank, const model::RankReport& report) {
  received_.clear();
  for (const model::OperationRecord& operation : report.operations) {
    if (!operation.communicator.valid() || operation.communicator.index() >= communicators_.size()) continue;
    if (!operation.started.has_value() || !operation.finished.has_value() || operation.bytes == 0) continue;
    Communicator& communicator = communicators_[operation.communicator.index()];
    ++communicator.operations;
    communicator.without += *operation.finished <= *operation.started ? 1 : 0;
    const auto least = kShareWithout * static_cast<double>(std::max(communicator.operations, kOperationsMin));
    if (static_cast<double>(communicator.without) < least) {
      communicator.is_exchange = false;
      continue;
    }
    if (operation.kind != model::OperationKind::kReceive) continue;
    ++received_[{operation.communicator, operation.peer}];
    std::set<model::RankId>& peers = rank.peers[operation.communicator];
    if (peers.size() < kPeersMin) peers.insert(operation.peer);
    communicator.is_exchange |= peers.size() >= kPeersMin;
  }
}

void ArrivalWaits::AddArrivals(Rank& rank, const model::RankReport& report) const {
  for (const model::ConnectionRecord& connection : report.connections) {
    const model::ConnectionKey& key = connection.key;
    if (key.direction != model::Direction::kReceive || connection.messages == 0) continue;
    if (!key.communicator.valid() || key.communicator.index() >= communicators_.size()) continue;
    if (!communicators_[key.communicator.index()].is_exchange) continue;
    rank.wait_seconds += connection.wait_for_gpu.seconds().value();
    rank.messages += connection.messages;
    rank.connections.insert(key);
    const auto received = received_.find({key.communicator, key.peer});
    if (received != received_.end()) rank.operations += received->second;
  }
}

bool ArrivalWaits::HasAny() const {
  return std::ranges::any_of(communicators_, [](const Communicator& one) { return one.is_exchange; });
}

std::vector<uint32_t> ArrivalWaits::Roles() const {
  std::vector<uint32_t> roles(ranks_.size(), 0);
  for (size_t c = communicators_.size(); c > 0; --c) {
    if (!communicators_[c - 1].is_exchange) continue;
    for (const model::RankId rank : layout_.communicators[c - 1].ranks) {
      if (rank.index() < roles.size()) roles[rank.index()] = static_cast<uint32_t>(c);
    }
  }
  return roles;
}

double ArrivalWaits::OwnSeconds(const Rank& rank) {
  if (rank.connections.empty()) return 0;
  const double slots =
      rank.operations == 0
          ? kSlots
          : std::clamp(static_cast<double>(rank.messages) / static_cast<double>(rank.operations), 1.0, kSlots);
  return rank.wait_seconds / (static_cast<double>(rank.connections.size()) * slots);
}

std::vector<BlockSample> ArrivalWaits::TakeBlock(SimTime now) {
  if (!begin_.has_value() || !HasAny()) begin_ = now;
  std::vector<BlockSample> samples;
  const SimDuration length = now - *begin_;
  if (length < kBlock) return samples;
  const double seconds = length.seconds().value();
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    Rank& rank = ranks_[r];
    if (rank.seen_seconds >= kSeenMin * seconds && !rank.connections.empty()) {
      // As much of the block as of what was seen.
      const double own_seconds = OwnSeconds(rank) / rank.seen_seconds * seconds;
      samples.push_back(
          {.rank = r, .index = block_, .own_seconds = own_seconds, .host_seconds = 0, .span_seconds = seconds});
    }
    rank.seen_seconds = rank.wait_seconds = 0;
    rank.messages = rank.operations = 0;
    rank.connections.clear();
  }
  ++block_;
  begin_ = now;
  return samples;
}

}  // namespace fairlead::diagnosis::c4d
