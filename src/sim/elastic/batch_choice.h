// Which batch a job that may choose it trains with: the one of greatest goodput on its GPUs.
//
// Notation    M -> global batch; M0 -> the batch that progress is counted in; T(M) -> seconds of an iteration; sqr,
//             var -> gradient noise of the epoch (application_profile.h); x = M / M0.
// Method      goodput(M) = gain(M) / T(M), iterations at M0 per second, with gain(M) = (var + sqr) / (var / x + sqr);
//             50 batches from max(M0, local_min * GPUs) to the largest, in equal ratios, each split over the GPUs with
//             as few passes as fit; the best one, the smaller on ties.
// Reference   Qiao et al., Pollux, OSDI 2021, section 3.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/elastic/application_profile.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/training_run.h"

namespace fairlead::sim {

// (var + sqr) / (var / x + sqr): how many iterations at the first batch one of `scale` times that batch is worth.
double GainOf(const GradientStats& stats, double scale);

// A batch, how it is split, and how fast it is.
struct BatchOption {
  BatchSplit split;
  double batch = 0;
  PassTime pass;
  double iteration_s = 0;
};

struct BatchChoice {
  BatchOption option;
  double goodput = 0;  // iterations at the first batch per second
};

// The batches of one placement.
class BatchMenu {
 public:
  BatchMenu(const ApplicationProfile& profile, const GpusPerNode& placement);

  // Nothing where no batch's time is known. Cost: O(options).
  std::optional<BatchChoice> Best(const ApplicationProfile& profile, uint32_t epoch) const;

 private:
  std::vector<BatchOption> options_;
};

// Of an application, on 1, 2, … GPUs in the densest placement.
class BatchMenus {
 public:
  BatchMenus(const ApplicationProfile& profile, const ElasticCluster& cluster);

  uint32_t max_gpus() const { return static_cast<uint32_t>(dense_.size()); }
  // Args: num_gpus: 1 to max_gpus().
  const BatchMenu& dense(uint32_t num_gpus) const { return dense_[num_gpus - 1]; }
  // Of an iteration at the first batch, with the best one; 0 = unknown. Args: num_gpus: above max_gpus() is unknown.
  double SecondsOfBest(uint32_t num_gpus, uint32_t epoch) const {
    return num_gpus > max_gpus() ? 0 : seconds_[num_gpus - 1][epoch];
  }

 private:
  std::vector<BatchMenu> dense_;              // [GPUs - 1]
  std::vector<std::vector<double>> seconds_;  // [GPUs - 1][epoch]
};

// From now on each job with a profile chooses its batch.
void LetJobsChooseBatches(const ElasticCluster& cluster, std::vector<ElasticJobSpec>* jobs);

}  // namespace fairlead::sim
