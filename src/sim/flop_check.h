// Do jobs claim more floating-point work than their GPUs can do? Then the model's profile or the GPUs' peak is wrong,
// and FLOP-weighted utilization with them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "controller/cluster_controller.h"
#include "model/flow.h"
#include "model/job.h"

namespace fairlead::sim {

// FLOP of an iteration relative to what the job's GPUs do at `peak` in its compute time; infinity where it computes in
// no time, 0 where it has no work.
double ClaimedShareOfPeak(const model::Job& job, const model::Iteration& iteration, FlopPerSecond peak);

// Watches the iterations that runs ask for. Thread: safe.
class FlopCheck {
 public:
  explicit FlopCheck(FlopPerSecond peak) : peak_(peak) {}

  // `provider`, and every iteration that it gives is looked at. This object must outlive the result.
  controller::IterationProvider Watch(controller::IterationProvider provider);

  // One sentence for each job above its peak, by id: the job, what was found, what to check; after kNumJobsListed of
  // them how many more there are. The same at any order of calls.
  std::vector<std::string> Describe() const;
  static constexpr size_t kNumJobsListed = 5;

 private:
  struct Claim {
    std::string name;
    uint32_t num_gpus = 0;
    double share = 0;  // the greatest of all its sizes
    double flop = 0;   // of the iteration
    double compute_s = 0;
  };

  void Look(const model::Job& job, const model::Iteration& iteration);

  FlopPerSecond peak_;
  mutable std::mutex mutex_;
  std::map<JobId, Claim> claims_;
};

}  // namespace fairlead::sim
