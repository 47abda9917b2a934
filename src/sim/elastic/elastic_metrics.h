// What an elastic simulation says about a policy: completion times, waiting, utilization, restarts.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/elastic/elastic_simulation.h"

namespace fairlead::sim {

// Times in seconds. Jobs that did not end are left out of JCTs and counted.
struct ElasticMetrics {
  double mean_jct_s = 0;
  double median_jct_s = 0;
  double p95_jct_s = 0;  // nearest rank
  double p99_jct_s = 0;
  double makespan_s = 0;         // end of the last job
  double mean_first_wait_s = 0;  // from submission to the first start
  double mean_wait_s = 0;        // without resources, in all
  double gpu_utilization = 0;    // of the cluster's GPUs, until the last job ended
  double core_utilization = 0;   // the same; 0 where cores don't count
  double balanced_share = 0;     // of that time with |GPU - core utilization| below 0.4
  // The same three, counting only resources that compute, not those that are held and wait.
  double gpu_busy = 0;
  double core_busy = 0;
  double busy_balanced_share = 0;
  double restarts_per_job = 0;
  double stops_per_job = 0;
  double gpu_hours = 0;
  double worst_slowdown = 0;  // JCT over the time alone on the requested GPUs, largest
  // JCTs by GPU-hours that the job took: below 1, 1 to 10, above.
  double mean_jct_by_size_s[3] = {0, 0, 0};
  uint32_t num_unfinished = 0;
  uint32_t num_unknown_placements = 0;
};

// Args: use_until_s: utilization counts up to then, but not beyond the end of the last job. While the last few jobs
// end, it says more about them than about the policy.
ElasticMetrics Summarize(const ElasticResult& result, const ElasticCluster& cluster,
                         double use_until_s = std::numeric_limits<double>::infinity());

// |GPU - core utilization| in every interval until the last job ended, by resources that are held, and by those that
// compute; ascending: their ranks are the distribution that the paper's slide shows.
struct UtilizationGaps {
  std::vector<double> held;
  std::vector<double> busy;
};
UtilizationGaps CollectGaps(const ElasticResult& result, const ElasticCluster& cluster,
                            double use_until_s = std::numeric_limits<double>::infinity());

}  // namespace fairlead::sim
