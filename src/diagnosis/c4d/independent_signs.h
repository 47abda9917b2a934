// From how many sides is a suspicion known? (model/finding.h, Sign)
//
// Method      peers      others wait: of a hang, a slow rank or a slow path that is what the suspicion is made of; of a
//                        death, a rank that lives has begun an operation that the dead one has not finished. Of
//                        several silent hosts one explains the wait, and the agents of the others may just start
//                        again: it is a sign once all have been silent for long
//             own ranks  the accused ranks, or those of the accused host, have reported, and are not silent
//             kernel     the agent of their host says that they have ended, or are stopped
//             device     their host has reported an error of their GPU, or of a NIC or a port
//             silence    nothing has come from their host for `silent_after`; not of processes that it has called dead
//                        before
// Cost        O(pending operations times their ranks), of deaths only.
#pragma once

#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/c4d_options.h"
#include "diagnosis/c4d/job_picture.h"
#include "model/finding.h"

namespace fairlead::diagnosis::c4d {

// Ascending.
std::vector<model::Sign> FindSigns(const JobPicture& picture, const model::Finding& finding, SimTime now,
                                   const SilenceOptions& options);

// What the accused hosts have reported of their devices and their kernel, the latest kReportsMax, in order of arrival.
inline constexpr size_t kReportsMax = 8;
std::vector<model::Evidence> FindReports(const JobPicture& picture, const model::Finding& finding, SimTime now);

}  // namespace fairlead::diagnosis::c4d
