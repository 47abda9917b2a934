#include "execution/operation_log.h"

#include <algorithm>
#include <optional>

namespace fairlead::execution {

namespace {

using model::OperationKind;
using model::OperationRecord;
using model::ProgressRecord;
using model::RankId;

std::optional<SimTime> KnownBy(Instant until, Instant t) {
  return t <= until ? std::optional(SimTime(t)) : std::nullopt;
}

OperationRecord ToRecord(const SimulatedOperation& operation, Instant until) {
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

OperationLog::OperationLog(const model::JobLayout& layout) : ranks_(layout.ranks.size()) {
  for (uint32_t c = 0; c < layout.communicators.size(); ++c) {
    for (const RankId rank : layout.communicators[c].ranks) {
      ranks_[rank.index()].progress.push_back({.communicator = model::CommunicatorId(c), .peer = {}});
    }
  }
}

ProgressRecord& OperationLog::ProgressOf(OfRank& log, const SimulatedOperation& operation) {
  const bool is_transfer = operation.kind == OperationKind::kSend || operation.kind == OperationKind::kReceive;
  const OperationKind kind = is_transfer ? operation.kind : OperationKind::kUnknown;
  const auto found = std::ranges::find_if(log.progress, [&](const ProgressRecord& progress) {
    return progress.communicator == operation.communicator && progress.kind == kind && progress.peer == operation.peer;
  });
  if (found != log.progress.end()) return *found;
  return log.progress.emplace_back(
      ProgressRecord{.communicator = operation.communicator, .kind = kind, .peer = operation.peer});
}

OperationLog::Handle OperationLog::Add(RankId rank, const SimulatedOperation& operation) {
  OfRank& log = ranks_[rank.index()];
  log.operations.push_back(operation);
  return {rank, log.first_index + log.operations.size() - 1};
}

SimulatedOperation& OperationLog::operator[](Handle handle) {
  OfRank& log = ranks_[handle.rank.index()];
  return log.operations[handle.index - log.first_index];
}

void OperationLog::Take(RankId rank, Instant until, model::RankReport& report) {
  OfRank& log = ranks_[rank.index()];
  const auto is_news = [&log, until](Instant t) { return t > log.until && t <= until; };
  for (const SimulatedOperation& operation : log.operations) {
    if (operation.enqueued > until) continue;
    report.operations.push_back(ToRecord(operation, until));
    ProgressRecord& progress = ProgressOf(log, operation);
    progress.enqueued += is_news(operation.enqueued) ? 1 : 0;
    progress.started += is_news(operation.started) ? 1 : 0;
    progress.finished += is_news(operation.finished) ? 1 : 0;
  }
  report.progress = log.progress;
  report.operations_since = SimTime(std::max<Instant>(0, log.until_before));
  log.until_before = log.until;
  log.until = std::max(log.until, until);
  const auto kept = std::ranges::find_if(
      log.operations, [&](const SimulatedOperation& operation) { return operation.finished > log.until_before; });
  log.first_index += static_cast<uint64_t>(kept - log.operations.begin());
  log.operations.erase(log.operations.begin(), kept);
}

}  // namespace fairlead::execution
