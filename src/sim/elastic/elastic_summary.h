// What one run of a workload says about its policy, for people who compare policies: completion, first waits by size of
// job, restarts, lost GPU-hours and fairness.
//
// Fairness    rho = JCT / fair time. A job's fair time is that of its requested GPUs alone, T, stretched where they are
//             more than its share of the cluster: T max(1, k / (C / max(1, n))), n = mean number of unfinished jobs
//             while it was there, C = GPUs of the cluster. Above 1: it would have been better off with its share.
// Reference   Themis, NSDI 2020 (finish-time fairness); the mean over a job's life is ours.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/elastic/elastic_simulation.h"

namespace fairlead::sim {

// Seconds, or numbers, of several jobs. Ranks are nearest ranks; all 0 where there are no jobs.
struct Spread {
  size_t count = 0;
  double mean = 0;
  double p50 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};
Spread SpreadOf(const std::vector<double>& values);

// By requested GPUs: 1, 2-4, 5-8, 9-32, more.
inline constexpr std::array<std::string_view, 5> kSizeClasses = {"1", "2-4", "5-8", "9-32", "33+"};
size_t SizeClassOf(uint32_t requested_gpus);

struct ElasticSummary {
  Spread jct_s;         // of jobs that ended
  Spread first_wait_s;  // of jobs that started
  Spread wait_s;        // without GPUs, in all
  std::array<Spread, kSizeClasses.size()> first_wait_by_size_s;
  Spread restarts;
  Spread stops;
  Spread unfairness;                                          // rho
  double unfair_share = 0;                                    // of jobs with rho > 1
  std::array<Spread, kForecastShares.size()> forecast_error;  // how far off, either way, of what was left
  double lost_gpu_hours = 0;                                  // in restarts, and of training that failures undid
  double gpu_hours = 0;
  double makespan_s = 0;
  double gpu_utilization = 0;           // of the cluster, until the last job ended
  std::vector<std::string> unfinished;  // names
};

ElasticSummary SummarizeRun(const ElasticResult& result, const ElasticCluster& cluster);

// The same of several workloads: jobs of all are pooled, the makespan is the longest, utilization that of all time.
ElasticSummary SummarizeRuns(std::span<const ElasticResult> results, const ElasticCluster& cluster);

// What one tenant's jobs got.
struct TenantSummary {
  size_t num_jobs = 0;
  Spread jct_s;
  Spread first_wait_s;
  double gpu_hours = 0;
};
// By name; jobs of several workloads are pooled.
std::map<std::string, TenantSummary> SummarizeTenants(std::span<const ElasticResult> results);

// [result.jobs] rho; 0 for jobs that did not end or of unknown time alone.
std::vector<double> FinishTimeUnfairness(const ElasticResult& result, const ElasticCluster& cluster);

}  // namespace fairlead::sim
