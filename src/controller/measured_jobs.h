// Jobs as a policy shall see them, made of what hosts have measured and of the paths that the path service holds.
//
// Method      one flow for each queue pair that has a path, between the GPUs beside its NICs, with its part of what its
//             connection was measured to send; the rest of the iteration is made of the job's measured profile
//             (model/measured_profile.h). A queue pair without a path, or with nothing on it, tells nothing of the job.
// Guarantees  by id; each has a flow. A job on hashed paths that are not known is left out.
// Cost        O(queue pairs of all jobs + links of their paths).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "controller/job_measurements.h"
#include "model/flow.h"
#include "model/path.h"
#include "topology/fabric.h"
#include "traffic/path_service.h"

namespace fairlead::controller {

struct MeasuredJob {
  JobId id;
  uint32_t num_gpus = 0;
  bool is_period_known = true;
  model::Iteration iteration;
  std::vector<model::Path> paths;  // [flow]
};

// Args: sums: of each job that a host has measured, with the bytes of its connections.
std::vector<MeasuredJob> CollectMeasuredJobs(const topology::Fabric& fabric, const traffic::PathService& paths,
                                             const std::map<JobId, JobMeasurement>& sums);

}  // namespace fairlead::controller
