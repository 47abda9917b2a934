// Elastic jobs that we hold and that get no size: held when they were submitted, because the alive file says that
// somebody starts them, by an earlier controller, or again because slurmctld has forgotten their release. They are
// released, at the size that they ask for.
#pragma once

#include <functional>
#include <vector>

#include "slurm/cluster_state.h"
#include "slurm/engine_notes.h"
#include "slurm/programs.h"

namespace fairlead::slurm {

// One that its user holds is left alone; one that somebody else has released loses the mark of a hold. What Slurm
// refuses is tried again with the next call. Args: is_kept: whether somebody is at the job, or it gets its size from
// us. Cost: four programs for each such job.
void ReleaseHeldJobs(const std::vector<Job>& jobs, const std::function<bool(const Job&)>& is_kept, Programs* programs,
                     EngineNotes* notes);

}  // namespace fairlead::slurm
