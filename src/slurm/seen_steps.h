// How far elastic jobs have come, by whoever says it: a job itself, in its file, and its communication, as measured.
//
// Thread      one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/units.h"
#include "slurm/cluster_state.h"
#include "slurm/elastic_jobs.h"
#include "slurm/job_wish.h"

namespace fairlead::slurm {

class SeenSteps {
 public:
  // How long an iteration takes, of all jobs of which that is measured. Args: times: [key of a job]; others than
  // Slurm's, and those that are not verified, are left out.
  void SetIterationTimes(const std::map<std::string, Seconds>& times);
  // A file that is not there yet says nothing; one that can't be believed is a fault. Blocks on the job's file.
  StepsSeen Read(const Job& job, const ElasticWish& wish) const;

 private:
  std::map<uint32_t, Seconds> iteration_times_;  // [job]
};

}  // namespace fairlead::slurm
