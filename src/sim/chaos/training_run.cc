#include "sim/chaos/training_run.h"

#include <algorithm>
#include <utility>

namespace fairlead::sim::chaos {

namespace {

constexpr uint64_t kBytes = 1 << 20;
constexpr SimDuration kUntilKernel(1'000'000);

}  // namespace

TrainingRun::TrainingRun(std::string job, uint64_t communicator, std::vector<int32_t> pids, SimTime begin,
                         SimDuration iteration)
    : job_(std::move(job)), communicator_(communicator), pids_(std::move(pids)), begin_(begin), iteration_(iteration) {}

SimTime TrainingRun::EnqueuedAt(uint64_t operation) const {
  return begin_ + iteration_ * static_cast<int64_t>(operation) + SimDuration(iteration_.ns() * 3 / 10);
}

uint64_t TrainingRun::NumFinished(SimTime now) const {
  const auto finished = static_cast<uint64_t>(std::max<int64_t>(0, (now - begin_).ns() / iteration_.ns()));
  return stuck_.has_value() ? std::min(finished, num_finished_at_stall_) : finished;
}

void TrainingRun::Stall(size_t rank, SimTime now) {
  if (stuck_.has_value()) return;
  // What all ranks have begun ends.
  const uint64_t next = NumFinished(now);
  num_finished_at_stall_ = EnqueuedAt(next) <= now ? next + 1 : next;
  stuck_ = rank;
}

bool TrainingRun::IsIdle(size_t rank, SimTime now) const {
  return rank == stuck_ || now < EnqueuedAt(NumFinished(now));
}

telemetry::ProcessReport TrainingRun::Report(size_t rank, SimTime since, SimTime now, SimDuration clock) const {
  telemetry::ProcessReport report;
  report.job = job_;
  report.pid = pids_[rank];
  report.process_start = static_cast<uint64_t>(begin_.ns());
  report.global_rank = static_cast<int32_t>(rank);
  report.at = now + clock;
  report.communicators = {{.id = communicator_,
                           .name = "",
                           .num_ranks = static_cast<uint32_t>(pids_.size()),
                           .rank = static_cast<int32_t>(rank),
                           .is_finalized = false}};
  report.operations_since = since + clock;
  const uint64_t num_finished = NumFinished(now);
  const uint64_t first = NumFinished(since);
  const auto add = [&](uint64_t number) {
    model::OperationRecord& operation = report.operations.emplace_back();
    operation.communicator = model::CommunicatorId(0);
    operation.kind = model::OperationKind::kAllReduce;
    operation.sequence = operation.issue_index = number;
    operation.bytes = kBytes;
    operation.data_type = "ncclBfloat16";
    operation.enqueued = EnqueuedAt(number) + clock;
    operation.started = EnqueuedAt(number) + kUntilKernel + clock;
    if (number < num_finished) operation.finished = begin_ + iteration_ * static_cast<int64_t>(number + 1) + clock;
  };
  for (uint64_t number = first; number < num_finished; ++number) add(number);
  const bool is_pending = !IsIdle(rank, now);
  if (is_pending) add(num_finished);
  const uint64_t begun = num_finished + (is_pending ? 1 : 0);
  report.progress = {{.communicator = model::CommunicatorId(0),
                      .kind = model::OperationKind::kUnknown,
                      .peer = {},
                      .enqueued = begun,
                      .started = begun,
                      .finished = num_finished}};
  return report;
}

}  // namespace fairlead::sim::chaos
