// What each job of a workload has told of itself, and nothing else: the steps that it declares and has done, and how
// long they took at the sizes that it has had. Sizes of real jobs on Slurm are chosen with that (slurm/elastic_jobs.h).
//
// Method      speeds    prediction/measured_speed.h, one for each job: before its first step a shape without a scale
//             lengths   declared steps less those done, from the first step on; a job that has done all of them and
//                       goes on has a fiftieth left
// Guarantees  nothing is learned from other jobs. Same observations, same knowledge.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "prediction/measured_speed.h"
#include "sim/elastic/elastic_job.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

class OwnMeasurements {
 public:
  // Errors: kInvalidArgument: a job that does not train by epochs.
  static Result<OwnMeasurements> Create(const std::vector<ElasticJobSpec>& workload, const ElasticCluster& cluster);

  // After `seconds` in which job `j` trained. Args: noise: factor of what is measured.
  void Observe(uint32_t j, const ElasticJob& job, double seconds, double noise);

  // Iterations that it has left; nothing before its first steps, and where it declares none.
  std::optional<double> Remaining(uint32_t j, const ElasticJob& job) const;
  const std::vector<scheduling::JobSize>& sizes(uint32_t j) const { return jobs_[j].sizes; }

 private:
  struct Known {
    prediction::MeasuredSpeed speed;
    std::vector<scheduling::JobSize> sizes;
    bool has_steps = false;
  };

  explicit OwnMeasurements(std::vector<Known> jobs) : jobs_(std::move(jobs)) {}
  static void Refresh(Known* job);

  std::vector<Known> jobs_;  // [workload]
};

}  // namespace fairlead::sim
