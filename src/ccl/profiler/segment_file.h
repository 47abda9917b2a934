// The file of shared memory that a process records into: made once, found by the agent by its name.
#pragma once

#include "shm/profiler_segment.h"

namespace fairlead::ccl {

// Environment: FAIRLEAD_PROFILER=0 records nothing; FAIRLEAD_SHM_FOLDER (default /dev/shm); FAIRLEAD_JOB
// (shm/job_name.h), and RANK, SLURM_PROCID or OMPI_COMM_WORLD_RANK for the header.

// The segment of this process, made when there is none yet (a child made by fork gets its own). Its memory is reserved,
// so that a full /dev/shm is noticed here and not by a signal later. Null: it can't be had, record nothing.
// Not for hot paths; one thread at a time.
shm::ProfilerSegment* OpenSegment();

// Removes the file, not the memory: at the end of the process.
void RemoveSegmentFile();

}  // namespace fairlead::ccl
