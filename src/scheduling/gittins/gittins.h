// 2D-Gittins: the queues of Tiresias, and inside a queue the job that is likeliest to end soon for what it takes.
//
// Notation     a = attained GPU-seconds; S = service of finished jobs (samples); D = service quantum.
//              G(a) = P(S - a <= D | S > a) / E[min(S - a, D) | S > a]
// Method       jobs by queue (service_queues.h), then by G, largest first, ties by submission, id; full requested
//              sizes, others skipped.
// Cost         O(jobs log samples) with prefix sums over the sorted samples.
// Guarantees   beyond the largest sample G = 0. Samples of decreasing hazard: the order of least attained service.
// Reference    Gu et al., Tiresias, NSDI 2019, section 3.2.
// Oracle       the definition, summed over all samples (gittins_test.cc).
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/service_queues.h"

namespace fairlead::scheduling::gittins {

struct GittinsOptions {
  ServiceQueueOptions queues;
  // D, GPU-seconds. Larger: looks further ahead.
  double quantum_gpu_s = 3250;
  // Service of finished jobs, GPU-seconds, > 0. Empty (default): those of the snapshot, from the 30th on; before, every
  // index is 0, which leaves the order of Tiresias.
  std::vector<double> service_samples;

  Status Validate() const;
};

// The index as a function of attained service.
class GittinsIndex {
 public:
  GittinsIndex(std::vector<double> samples, double quantum);
  double At(double attained) const;

 private:
  std::vector<double> samples_;      // ascending
  std::vector<double> prefix_sums_;  // [i] sum of the first i
  double quantum_;
};

// Errors: those of options.Validate().
Result<std::unique_ptr<AllocationPolicy>> CreateGittins(const GittinsOptions& options = {});

}  // namespace fairlead::scheduling::gittins
