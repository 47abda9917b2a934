// Multi-level queues by attained service, as in Tiresias: a job sinks when it has used much, and rises when it has
// waited long. Shared by 2D-LAS and 2D-Gittins, which differ in the order inside a queue.
#pragma once

#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/plan_assembly.h"

namespace fairlead::scheduling {

struct ServiceQueueOptions {
  // Attained GPU-seconds at which a job sinks from queue i to i + 1. Ascending. Default: 16 GPU-hours, as in the Pollux
  // benchmark; Tiresias' own code has 3250, 7200, 18000. Lower limits favour short jobs, and stop long ones more often.
  std::vector<double> limits_gpu_s = {57600};
  // A job that has waited for `promote_knob` times what it has executed rises to queue 0, and counts from 0 again. 0 =
  // never.
  double promote_knob = 0;

  Status Validate() const;
};

// GPU-seconds by which queues are distinguished: executed time times requested GPUs; cores count as parts of a GPU by
// `units`.
double AttainedGpuSeconds(const AllocationJob& job, const ResourceUnits& units);

// Moves jobs between queues: writes memory and reason.queue of every job of `plan`.
void UpdateQueues(const AllocationSnapshot& snapshot, const ServiceQueueOptions& options, AllocationPlan* plan);

// Jobs by queue; first entered, first served within.
ServiceOrder ByQueue(const AllocationSnapshot& snapshot, const AllocationPlan& plan);

}  // namespace fairlead::scheduling
