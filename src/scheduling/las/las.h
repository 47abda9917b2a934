// 2D-LAS: least attained service first, in few queues. The policy of Tiresias for jobs of unknown length.
//
// Method       attained = executed time * requested GPUs. A new job enters queue 0; at a limit it sinks to the end of
//              the next. Queues in order, first in first out inside, a job runs at its requested size if it fits, else
//              it is skipped; running jobs are stopped for better ones.
// Guarantees   needs no prediction of any kind.
// Differs      promotion resets attained service, as in the paper; off by default.
// Reference    Gu et al., Tiresias, NSDI 2019, section 3. Defaults: the Pollux benchmark (OSDI 2021).
#pragma once

#include <memory>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/service_queues.h"

namespace fairlead::scheduling::las {

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateLas(const ServiceQueueOptions& options = {});

}  // namespace fairlead::scheduling::las
