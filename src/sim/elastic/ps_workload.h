// Applications and workloads of parameter servers and workers of our own, drawn by a seed.
//
// Method      six kinds of application with ranges of our choosing, from networks that are 60 times as fast on a GPU as
//             on a core to linear models that hardly gain. Owners request a kind of device that mostly suits, one to
//             four workers and one to four servers, and five cores for each, whatever the job needs: as people do
//             without measurements. How long a job takes as it was asked for is log-normal.
//             With an input pipeline (PsWorkloadOptions::has_input_pipeline) GPUs are fed by cores: an image takes ten
//             milliseconds of a core (decoding, cropping), a row of a table one, a sentence less; and owners ask for
//             one to five cores for each worker and one to three for each server, whatever the job needs.
// Guarantees  same options, same workload.
// Differs     not fitted to any published data: the form is that of the specification, numbers are ours.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

using PsApplicationSet = std::map<std::string, PsApplication>;

// The same for every seed but for their constants, which differ by up to a fifth. With an input pipeline the other
// constants are those without it.
PsApplicationSet GeneratePsApplications(uint64_t seed, bool has_input_pipeline = false);

struct PsWorkloadOptions {
  uint32_t num_jobs = 160;
  double arrivals_s = 8 * 3600;   // jobs come within this time
  double median_run_s = 20 * 60;  // as asked for, without waiting
  double run_sigma = 1;           // of its logarithm
  double predictable_share = 1;   // of jobs; the others stay unpredictable
  // False: after a part of the run, uniform in 0.09 to 0.89, as in the prototype's list of jobs.
  bool predictable_at_once = true;
  bool has_input_pipeline = false;
  uint64_t seed = 1;

  Status Validate() const;
};

// `applications` must outlive the jobs. Errors: those of options.Validate(), kInvalidArgument for no applications.
Result<std::vector<ElasticJobSpec>> GeneratePsWorkload(const PsApplicationSet& applications,
                                                       const PsWorkloadOptions& options);

}  // namespace fairlead::sim
