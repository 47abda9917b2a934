#include "execution/operation_log.h"

#include <algorithm>
#include <optional>

namespace fairlead::execution {

namespace {

using model::OperationRecord;
using model::RankId;

std::optional<SimTime> KnownBy(Instant until, Instant t) {
  return t <= until ? std::optional(SimTime(t)) : std::nullopt;
}

OperationRecord ToRecord(const PlayedOperation& operation, Instant until) {
  OperationRecord record;
  record.communicator = operation.communicator;
  record.kind = operation.kind;
  record.sequence = operation.sequence;
  record.issue_index = operation.issue_index;
  record.bytes = operation.bytes;
  record.data_type = operation.bytes > 0 ? "ncclBfloat16" : "";
  record.peer = operation.peer;
  record.enqueued = SimTime(operation.enqueued);
  record.started = KnownBy(until, operation.started);
  record.finished = KnownBy(until, operation.finished);
  return record;
}

}  // namespace

OperationLog::Handle OperationLog::Add(RankId rank, const PlayedOperation& operation) {
  OfRank& log = ranks_[rank.index()];
  log.operations.push_back(operation);
  return {rank, log.first_index + log.operations.size() - 1};
}

PlayedOperation& OperationLog::operator[](Handle handle) {
  OfRank& log = ranks_[handle.rank.index()];
  return log.operations[handle.index - log.first_index];
}

void OperationLog::Take(RankId rank, Instant after, Instant until, std::vector<OperationRecord>& records) {
  OfRank& log = ranks_[rank.index()];
  const auto is_news = [after, until](Instant t) { return t > after && t <= until; };
  for (const PlayedOperation& operation : log.operations) {
    if (is_news(operation.enqueued) || is_news(operation.started) || is_news(operation.finished)) {
      records.push_back(ToRecord(operation, until));
    }
  }
  const auto kept = std::ranges::find_if(
      log.operations, [until](const PlayedOperation& operation) { return operation.finished > until; });
  log.first_index += static_cast<uint64_t>(kept - log.operations.begin());
  log.operations.erase(log.operations.begin(), kept);
}

}  // namespace fairlead::execution
