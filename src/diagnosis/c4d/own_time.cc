#include "diagnosis/c4d/own_time.h"

#include <algorithm>

namespace fairlead::diagnosis::c4d {

void OwnTime::CollectEvents(const model::RankReport& report, SimTime after) {
  events_.clear();
  const auto add = [&](SimTime at, bool is_output, SimTime enqueued) {
    // What the report before has told already is told again with each later instant.
    if (at > after && at <= report.at) events_.push_back({at, is_output, enqueued});
  };
  for (const model::OperationRecord& operation : report.operations) {
    const bool is_send = operation.kind == model::OperationKind::kSend;
    const bool is_receive = operation.kind == model::OperationKind::kReceive;
    if (operation.started && !is_receive) add(*operation.started, true, operation.enqueued);
    if (operation.finished && !is_send) add(*operation.finished, false, operation.enqueued);
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.at != b.at ? a.at < b.at : a.is_output < b.is_output; });
}

void OwnTime::AddOutput(Rank& rank, const Event& event) {
  Gap gap;
  gap.seconds = (event.at - *rank.latest).seconds().value();
  gap.host_seconds = std::clamp((event.enqueued - *rank.latest).seconds().value(), 0.0, gap.seconds);
  rank.sum.seconds += gap.seconds;
  rank.sum.host_seconds += gap.host_seconds;
  ++rank.sum.outputs;
  if (gap.seconds <= rank.longest.front().seconds) return;
  rank.longest.front() = gap;
  std::sort(rank.longest.begin(), rank.longest.end(), [](const Gap& a, const Gap& b) { return a.seconds < b.seconds; });
}

void OwnTime::Add(const model::RankReport& report) {
  if (report.rank.index() >= ranks_.size()) return;
  Rank& rank = ranks_[report.rank.index()];
  if (rank.newest_report && report.number <= *rank.newest_report) return;
  const bool is_next = rank.newest_report && report.number == *rank.newest_report + 1;
  const SimTime after = is_next ? rank.newest_at : SimTime(0);
  CollectEvents(report, after);
  rank.newest_report = report.number;
  rank.newest_at = report.at;
  if (!is_next) {
    // Events before this report may be missing: begin anew after it.
    rank.latest.reset();
    if (!events_.empty()) rank.latest = events_.back().at;
    return;
  }
  for (const Event& event : events_) {
    if (!rank.first) rank.first = event.at;
    if (event.is_output && rank.latest) AddOutput(rank, event);
    rank.latest = event.at;
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
    if (rank.first && rank.latest) rank.sum.span = (*rank.latest - *rank.first).seconds().value();
    own.push_back(rank.sum);
    rank.sum = {};
    rank.longest = {};
    rank.first.reset();
  }
  return own;
}

}  // namespace fairlead::diagnosis::c4d
