// Applications and workloads of our own, drawn by a seed: for users without the data of the Pollux benchmark.
//
// Method      six kinds of application with ranges of our choosing. Time of a pass: a + b * local batch,
//             synchronisation within a node and between nodes growing with GPUs; noise of gradients grows over epochs,
//             so that larger batches pay more and more. Arrivals are Poisson, most jobs small, owners ask for a size
//             near what the batch needs.
// Guarantees  same options, same workload. The tables cover every placement of up to 16 nodes, as far as batches allow.
// Differs     not fitted to any published data: shapes are similar, numbers are ours.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

// The same for every seed but for their constants, which differ by up to a fifth.
Result<ProfileSet> GenerateProfiles(uint64_t seed);

struct GeneratedWorkloadOptions {
  uint32_t num_jobs = 160;
  double arrivals_s = 8 * 3600;     // jobs come within this time
  double predictable_share = 1;     // of jobs; the others stay unpredictable
  bool predictable_at_once = true;  // false: after a part of the run, uniform in 0.05 to 0.9
  uint64_t seed = 1;

  Status Validate() const;
};

// `profiles` must outlive the jobs. Errors: those of options.Validate(), kInvalidArgument for no profiles.
Result<std::vector<ElasticJobSpec>> GenerateWorkload(const ProfileSet& profiles,
                                                     const GeneratedWorkloadOptions& options);

// Makes a share of the jobs unpredictable, drawn by `seed`: the others keep what they have.
void DrawUnpredictable(double predictable_share, uint64_t seed, std::vector<ElasticJobSpec>* jobs);

// Lets users err about lengths by a factor of 1 / most … most, uniform in its logarithm. Args: most >= 1.
void DrawDeclaredErrors(double most, uint64_t seed, std::vector<ElasticJobSpec>* jobs);

}  // namespace fairlead::sim
