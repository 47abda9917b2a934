// Elastic jobs that we hold and that get no size: held when they were submitted, because the alive file says that
// somebody starts them, or by an earlier controller. They are released, at the size that they ask for.
#pragma once

#include <functional>
#include <vector>

#include "slurm/cluster_state.h"
#include "slurm/engine_notes.h"
#include "slurm/programs.h"

namespace fairlead::slurm {

// One that its user holds is left alone. What Slurm refuses is tried again with the next call. Args: is_sized: whether
// the job gets its size from us. Cost: two programs for each such job.
void ReleaseHeldJobs(const std::vector<Job>& jobs, const std::function<bool(const Job&)>& is_sized, Programs* programs,
                     EngineNotes* notes);

}  // namespace fairlead::slurm
