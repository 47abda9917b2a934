#include "execution/report_channel.h"

#include <algorithm>
#include <utility>

namespace fairlead::execution {

void ReportChannel::Push(Instant arrival, model::TelemetryRecord record) {
  heap_.push_back({arrival, num_sent_++, std::move(record)});
  std::push_heap(heap_.begin(), heap_.end());
}

Instant ReportChannel::Delay() {
  Instant delay = noise_.delay_min.ns();
  if (noise_.delay_jitter.ns() > 0) {
    delay += static_cast<Instant>(random_.Exponential(static_cast<double>(noise_.delay_jitter.ns())));
  }
  if (random_.Uniform() < noise_.delayed) {
    delay += static_cast<Instant>(random_.Uniform() * static_cast<double>(noise_.delayed_max.ns()));
  }
  return delay;
}

void ReportChannel::Truncate(model::TelemetryRecord& record) {
  auto* report = std::get_if<model::RankReport>(&record);
  if (report == nullptr) return;
  report->operations.resize(random_.Below(report->operations.size() + 1));
  report->progress.resize(random_.Below(report->progress.size() + 1));
  report->connections.resize(random_.Below(report->connections.size() + 1));
}

model::TelemetryRecord ReportChannel::Contradict(model::TelemetryRecord record) {
  if (auto* report = std::get_if<model::RankReport>(&record)) {
    for (model::OperationRecord& operation : report->operations) {
      if (random_.Below(2) == 0) continue;
      operation.finished.reset();
      if (random_.Below(2) == 0) operation.started.reset();
    }
    for (model::ProgressRecord& progress : report->progress) {
      if (random_.Below(2) == 0) continue;
      progress.finished -= std::min<uint64_t>(progress.finished, random_.Below(3));
      if (random_.Below(2) == 0) progress.started = progress.finished;
    }
  }
  return record;
}

void ReportChannel::Send(Instant at, model::TelemetryRecord record) {
  if (random_.Uniform() < noise_.lost) return;
  if (random_.Uniform() < noise_.truncated) Truncate(record);
  if (random_.Uniform() < noise_.contradicting) Push(at + Delay(), Contradict(record));
  if (random_.Uniform() < noise_.duplicated) Push(at + Delay(), record);
  Push(at + Delay(), std::move(record));
}

void ReportChannel::Deliver(Instant until, const EmitRecord& emit) {
  while (!heap_.empty() && heap_.front().arrival <= until) {
    std::pop_heap(heap_.begin(), heap_.end());
    const UnderWay arrived = std::move(heap_.back());
    heap_.pop_back();
    emit(SimTime(arrived.arrival), arrived.record);
  }
}

}  // namespace fairlead::execution
