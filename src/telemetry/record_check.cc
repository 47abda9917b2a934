#include "telemetry/record_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

namespace fairlead::telemetry {

namespace {

using model::CommunicatorId;
using model::RankId;

std::string IdText(uint32_t value, bool is_valid) { return is_valid ? fmt::format("{}", value) : "none"; }

template <class IdType>
std::string CheckRange(const char* name, IdType id, size_t count) {
  if (id.valid() && id.index() < count) return "";
  return fmt::format(".{}: expected one of the layout's {}, found {}", name, count, IdText(id.value(), id.valid()));
}

std::string CheckJob(JobId job, const model::JobLayout& layout) {
  if (job == layout.job) return "";
  return fmt::format(".job: expected {}, the layout's, found {}; is this of another job?",
                     IdText(layout.job.value(), layout.job.valid()), IdText(job.value(), job.valid()));
}

// Index of an item with a key that occurred before, or the number of items.
template <class Key>
size_t FindRepeated(const std::vector<Key>& keys) {
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&keys](size_t a, size_t b) { return keys[a] < keys[b]; });
  const auto pair =
      std::adjacent_find(order.begin(), order.end(), [&keys](size_t a, size_t b) { return !(keys[a] < keys[b]); });
  return pair == order.end() ? keys.size() : *(pair + 1);
}

template <class Items, class KeyOf>
std::string CheckRepeated(const char* name, const Items& items, const KeyOf& key_of) {
  std::vector<decltype(key_of(items.front()))> keys;
  keys.reserve(items.size());
  for (const auto& item : items) keys.push_back(key_of(item));
  const size_t repeated = FindRepeated(keys);
  return repeated == items.size() ? "" : fmt::format(".{}[{}]: appears twice in one record", name, repeated);
}

}  // namespace

std::string RecordChecker::Check(const model::JobLayout& layout) {
  for (size_t rank = 0; rank < layout.ranks.size(); ++rank) {
    const model::RankPlace& place = layout.ranks[rank];
    if (!place.host.valid()) return fmt::format(".ranks[{}].host: expected a number, found none", rank);
    for (const model::LeafId leaf : place.leaves) {
      if (!leaf.valid()) return fmt::format(".ranks[{}].leaves: expected numbers, found none", rank);
    }
  }
  std::vector<size_t> seen_in(layout.ranks.size(), layout.communicators.size());
  for (size_t c = 0; c < layout.communicators.size(); ++c) {
    for (const RankId rank : layout.communicators[c].ranks) {
      std::string error = CheckRange("ranks", rank, layout.ranks.size());
      if (error.empty() && std::exchange(seen_in[rank.index()], c) == c) {
        error = fmt::format(".ranks: rank {} appears twice", rank.value());
      }
      if (!error.empty()) return fmt::format(".communicators[{}]{}", c, error);
    }
  }
  return "";
}

RecordChecker::RecordChecker(const model::JobLayout& layout) : layout_(&layout) {
  for (const model::RankPlace& place : layout.ranks) hosts_.insert(place.host);
}

std::string RecordChecker::CheckOperation(const model::OperationRecord& operation) const {
  std::string error = CheckRange("communicator", operation.communicator, layout_->communicators.size());
  if (!error.empty()) return error;
  if (operation.peer.valid()) error = CheckRange("peer", operation.peer, layout_->ranks.size());
  if (!error.empty()) return error;
  const size_t size = layout_->communicators[operation.communicator.index()].ranks.size();
  if (operation.root >= -1 && operation.root < static_cast<int64_t>(size)) return "";
  return fmt::format(".root: expected a rank of the communicator, below {}, or -1, found {}", size, operation.root);
}

std::string RecordChecker::CheckProgress(const model::ProgressRecord& progress) const {
  std::string error = CheckRange("communicator", progress.communicator, layout_->communicators.size());
  if (error.empty() && progress.peer.valid()) error = CheckRange("peer", progress.peer, layout_->ranks.size());
  return error;
}

std::string RecordChecker::CheckConnection(const model::ConnectionRecord& connection) const {
  std::string error = CheckRange("key.communicator", connection.key.communicator, layout_->communicators.size());
  if (error.empty()) error = CheckRange("key.peer", connection.key.peer, layout_->ranks.size());
  if (!error.empty()) return error;
  const std::pair<const char*, SimDuration> durations[] = {{"wire_time", connection.wire_time},
                                                           {"wire_time_max", connection.wire_time_max},
                                                           {"wait_for_gpu", connection.wait_for_gpu},
                                                           {"wait_for_peer", connection.wait_for_peer}};
  for (const auto& [name, duration] : durations) {
    if (duration < SimDuration()) return fmt::format(".{}: expected 0 or more, found {}", name, duration.ns());
  }
  return "";
}

std::string RecordChecker::Check(const model::RankReport& report) const {
  std::string error = CheckJob(report.job, *layout_);
  if (error.empty()) error = CheckRange("rank", report.rank, layout_->ranks.size());
  for (size_t i = 0; error.empty() && i < report.operations.size(); ++i) {
    error = CheckOperation(report.operations[i]);
    if (!error.empty()) return fmt::format(".operations[{}]{}", i, error);
  }
  for (size_t i = 0; error.empty() && i < report.progress.size(); ++i) {
    error = CheckProgress(report.progress[i]);
    if (!error.empty()) return fmt::format(".progress[{}]{}", i, error);
  }
  for (size_t i = 0; error.empty() && i < report.connections.size(); ++i) {
    error = CheckConnection(report.connections[i]);
    if (!error.empty()) return fmt::format(".connections[{}]{}", i, error);
  }
  if (error.empty()) {
    error = CheckRepeated("operations", report.operations, [](const model::OperationRecord& o) {
      return std::tuple(o.communicator, o.kind, o.sequence, o.peer);
    });
  }
  if (error.empty()) {
    error = CheckRepeated("progress", report.progress,
                          [](const model::ProgressRecord& p) { return std::tuple(p.communicator, p.kind, p.peer); });
  }
  if (error.empty()) {
    error = CheckRepeated("connections", report.connections, [](const model::ConnectionRecord& c) { return c.key; });
  }
  return error;
}

std::string RecordChecker::Check(const model::HostReport& report) const {
  std::string error = CheckJob(report.job, *layout_);
  if (!error.empty()) return error;
  if (!hosts_.contains(report.host)) {
    return fmt::format(".host: expected one of the layout's {}, found {}", hosts_.size(),
                       IdText(report.host.value(), report.host.valid()));
  }
  for (size_t i = 0; i < report.ranks.size(); ++i) {
    error = CheckRange("rank", report.ranks[i].rank, layout_->ranks.size());
    if (!error.empty()) return fmt::format(".ranks[{}]{}", i, error);
  }
  return CheckRepeated("ranks", report.ranks, [](const model::RankLiveness& liveness) { return liveness.rank; });
}

}  // namespace fairlead::telemetry
