#include "scheduling/service_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "scheduling/job_sizes.h"

namespace fairlead::scheduling {

Status ServiceQueueOptions::Validate() const {
  for (size_t i = 0; i < limits_gpu_s.size(); ++i) {
    if (!(limits_gpu_s[i] > 0) || (i > 0 && limits_gpu_s[i] <= limits_gpu_s[i - 1])) {
      return InvalidArgument(
          fmt::format("queue limit {} is {}; expected positive, ascending GPU-seconds", i, limits_gpu_s[i]));
    }
  }
  if (promote_knob >= 0 && std::isfinite(promote_knob)) return OkStatus();
  return InvalidArgument(fmt::format("promote_knob is {}; expected 0 (never) or a positive factor", promote_knob));
}

double AttainedGpuSeconds(const AllocationJob& job, const ResourceUnits& units) {
  return job.executed_s * units.Of(RequestedSize(job).resources()) / (units.gpu > 0 ? units.gpu : 1);
}

namespace {

bool HasWaitedLong(const AllocationSnapshot& snapshot, const AllocationJob& job, double knob) {
  if (knob <= 0 || job.is_running() || job.executed_s <= 0) return false;
  return (snapshot.now - job.waiting_since).seconds().value() >= knob * job.executed_s;
}

void Enter(uint32_t queue, SimTime now, uint64_t order, JobMemory* memory) {
  memory->queue = queue;
  memory->queue_since = now;
  memory->queue_order = order;
}

}  // namespace

void UpdateQueues(const AllocationSnapshot& snapshot, const ServiceQueueOptions& options, AllocationPlan* plan) {
  uint64_t entered = 0;
  for (const uint32_t j : ByQueue(snapshot, *plan)) {
    const AllocationJob& job = snapshot.jobs[j];
    JobMemory& memory = plan->jobs[j].memory;
    // A promotion forgives the service so far.
    const double attained = AttainedGpuSeconds(job, snapshot.units) - memory.score;
    const auto sunk = std::ranges::upper_bound(options.limits_gpu_s, attained) - options.limits_gpu_s.begin();
    if (memory.queue > 0 && HasWaitedLong(snapshot, job, options.promote_knob)) {
      memory.score = AttainedGpuSeconds(job, snapshot.units);
      Enter(0, snapshot.now, entered++, &memory);
      plan->jobs[j].reason.was_promoted = true;
    } else if (static_cast<uint32_t>(sunk) > memory.queue) {
      Enter(static_cast<uint32_t>(sunk), snapshot.now, entered++, &memory);
    }
    plan->jobs[j].reason.queue = memory.queue;
    plan->jobs[j].reason.score = attained;
  }
}

ServiceOrder ByQueue(const AllocationSnapshot& snapshot, const AllocationPlan& plan) {
  ServiceOrder order = BySubmission(snapshot);
  std::ranges::stable_sort(order, {}, [&](uint32_t j) {
    const JobMemory& memory = plan.jobs[j].memory;
    return std::tuple(memory.queue, memory.queue_since, memory.queue_order);
  });
  return order;
}

}  // namespace fairlead::scheduling
