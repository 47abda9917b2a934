#include "diagnosis/c4d/own_time.h"

#include <algorithm>
#include <iterator>

namespace fairlead::diagnosis::c4d {

void OwnTime::CollectEvents(const model::RankReport& report, SimTime after) {
  events_.clear();
  const model::OperationRecord* record = nullptr;
  const auto add = [&](SimTime at, EventKind kind, SimTime enqueued) {
    // The content of the previous report is repeated with each later instant.
    if (at > after && at <= report.at) events_.push_back({at, kind, enqueued, record});
  };
  for (const model::OperationRecord& operation : report.operations) {
    record = &operation;
    const bool is_receive = operation.kind == model::OperationKind::kReceive;
    add(operation.enqueued, EventKind::kEnqueued, operation.enqueued);
    if (operation.started && !is_receive) add(*operation.started, EventKind::kOutput, operation.enqueued);
    if (!operation.finished || operation.kind == model::OperationKind::kSend) continue;
    add(*operation.finished, is_receive ? EventKind::kReceived : EventKind::kCollectiveEnded, operation.enqueued);
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.kind < b.kind; });
}

void OwnTime::CollectIssued(const model::RankReport& report) {
  issued_.clear();
  for (const model::OperationRecord& operation : report.operations) {
    if (operation.kind == model::OperationKind::kReceive) continue;
    issued_.push_back({operation.communicator, operation.issue_index, operation.started.value_or(SimTime::Never())});
  }
  std::ranges::sort(issued_);
  for (size_t i = 1; i < issued_.size(); ++i) {
    if (issued_[i].communicator != issued_[i - 1].communicator) continue;
    issued_[i].begun = std::max(issued_[i].begun, issued_[i - 1].begun);
  }
}

SimTime OwnTime::OutputsBeforeBegun(const Received& received) {
  if (unsorted_ != nullptr) CollectIssued(*std::exchange(unsorted_, nullptr));
  const auto next = std::ranges::lower_bound(issued_, Issued{received.communicator, received.issue_index, {}});
  const bool is_any = next != issued_.begin() && std::prev(next)->communicator == received.communicator;
  return is_any ? std::prev(next)->begun : SimTime(0);
}

bool OwnTime::IsIssuedBefore(const Received& received, const Event& output) {
  const model::OperationRecord& operation = *output.operation;
  if (received.communicator == operation.communicator && received.issue_index != operation.issue_index) {
    return received.issue_index < operation.issue_index;
  }
  if (received.enqueued != operation.enqueued) return received.enqueued < operation.enqueued;
  return OutputsBeforeBegun(received) <= output.at;
}

OwnTime::Gap OwnTime::AddOutput(Rank& rank, const Event& output) {
  SimTime begin = *rank.latest;
  for (const Received& received : rank.received) {
    if (IsIssuedBefore(received, output)) begin = std::max(begin, received.at);
  }
  Gap gap;
  gap.seconds = (output.at - begin).seconds().value();
  gap.host_seconds = std::clamp((output.enqueued - begin).seconds().value(), 0.0, gap.seconds);
  rank.sum.seconds += gap.seconds;
  rank.sum.host_seconds += gap.host_seconds;
  ++rank.sum.outputs;
  if (gap.seconds <= rank.longest.front().seconds) return gap;
  rank.longest.front() = gap;
  std::sort(rank.longest.begin(), rank.longest.end(), [](const Gap& a, const Gap& b) { return a.seconds < b.seconds; });
  return gap;
}

void OwnTime::AddIdle(Rank& rank, const Event& event) {
  if (event.kind == EventKind::kOutput) return;
  if (event.kind == EventKind::kEnqueued && rank.host_latest) {
    const double seconds = (event.at - *rank.host_latest).seconds().value();
    rank.sum.idle_seconds += seconds;
    if (seconds > rank.longest_idle.front()) {
      rank.longest_idle.front() = seconds;
      std::sort(rank.longest_idle.begin(), rank.longest_idle.end());
    }
  }
  rank.host_latest = event.at;
}

void OwnTime::Forget(Rank& rank) {
  rank.received.clear();
  rank.latest.reset();
  rank.host_latest.reset();
}

void OwnTime::Add(const model::RankReport& report, Sink* sink) {
  if (report.rank.index() >= ranks_.size()) return;
  Rank& rank = ranks_[report.rank.index()];
  if (rank.newest_report && report.number <= *rank.newest_report) return;
  const bool overlaps = report.operations_since && *report.operations_since <= rank.newest_at;
  const bool is_next = rank.newest_report && (overlaps || report.number == *rank.newest_report + 1);
  CollectEvents(report, is_next ? rank.newest_at : SimTime(0));
  unsorted_ = &report;
  ++rank.sum.reports;
  if (rank.newest_report && !is_next) ++rank.sum.reports_missing;
  rank.newest_report = report.number;
  rank.newest_at = report.at;
  if (!is_next) {
    // Events before this report may be missing: begin again after it.
    if (sink != nullptr) sink->OnGap(report.rank.index());
    Forget(rank);
    if (!events_.empty()) rank.latest = rank.host_latest = events_.back().at;
    return;
  }
  for (const Event& event : events_) {
    if (!rank.first) rank.first = event.at;
    rank.last = event.at;
    AddIdle(rank, event);
    if (event.kind == EventKind::kEnqueued) continue;
    if (event.kind == EventKind::kReceived) {
      const model::OperationRecord& operation = *event.operation;
      if (rank.received.size() < kReceivedMax) {
        rank.received.push_back({event.at, event.enqueued, operation.communicator, operation.issue_index});
      }
      continue;
    }
    if (event.kind == EventKind::kOutput) {
      Output output{.operation = *event.operation, .at = event.at, .own_seconds = {}};
      if (rank.latest) {
        const Gap gap = AddOutput(rank, event);
        output.own_seconds = gap.seconds;
        output.host_seconds = gap.host_seconds;
      }
      if (sink != nullptr) sink->OnOutput(report.rank.index(), output);
    }
    rank.latest = event.at;
    rank.received.clear();
  }
}

std::vector<OwnTime::OfRank> OwnTime::Take() {
  std::vector<OfRank> own;
  own.reserve(ranks_.size());
  for (Rank& rank : ranks_) {
    for (const Gap& gap : rank.longest) {
      rank.sum.seconds -= gap.seconds;
      rank.sum.host_seconds -= gap.host_seconds;
      if (gap.seconds > 0) --rank.sum.outputs;
    }
    for (const double seconds : rank.longest_idle) rank.sum.idle_seconds -= seconds;
    if (rank.first) rank.sum.span = (rank.last - *rank.first).seconds().value();
    own.push_back(rank.sum);
    rank.sum = {};
    rank.longest = {};
    rank.longest_idle = {};
    rank.first.reset();
  }
  return own;
}

}  // namespace fairlead::diagnosis::c4d
