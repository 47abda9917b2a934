// What each policy achieved over all its draws: the numbers that table, page and JSON share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "sim/run_result.h"

namespace fairlead::report {

// A number over several runs.
struct Spread {
  double mean = 0;
  double min = 0;
  double max = 0;
  double deviation = 0;  // sample standard deviation; 0 for fewer than two values
  size_t count = 0;      // finite values that went in; 0: unknown, the rest is meaningless
  // Half of the 95 % confidence interval of the mean (Student's t); 0 where has_interval() is false.
  double margin = 0;

  bool known() const { return count > 0; }
  bool has_interval() const { return count > 1; }
  double low() const { return mean - margin; }
  double high() const { return mean + margin; }
};

// Values that are not finite are left out.
Spread SpreadOf(std::span<const double> values);

// Scales an amount of one run to a day of simulated time. 0 for a run of no length.
double PerDay(double amount, double simulated_s);

// One job under one policy.
struct JobSummary {
  JobId id;
  std::string name;
  std::string model;
  uint32_t num_gpus = 0;
  Spread slowdown;                 // over the runs in which it began
  bool slowdown_is_bound = false;  // it was stalled in one of them: its slowdown is a lower bound
  Spread gpu_hours_lost_per_day;
  // Seconds per run that it lost to jobs on more important levels.
  double yielded_s = 0;
  // From the policy's first run, so that the three belong together.
  uint32_t level = 0;
  std::string bounding_link;
  std::string reason;
};

struct HotLink {
  std::string name;
  double utilization = 0;  // 0..1, mean over the runs; a run without the link counts as 0
};

// One policy. Spreads are over its runs.
struct PolicySummary {
  std::string policy;
  std::vector<uint64_t> seeds;           // of its runs, in report order: those of the hash
  size_t num_partial = 0;                // runs stopped before the end
  Spread busy, flop_weighted, vs_ideal;  // fractions, 0..1
  Spread mean_slowdown, worst_slowdown;  // runs in which no job began (0) are left out
  Spread p99_slowdown;                   // unknown unless every run has enough jobs for it
  bool slowdowns_are_bounds = false;     // of one run at least
  Spread num_stalled, num_cut_off;       // jobs
  Spread gpu_hours_lost_per_day;
  Spread colliding_links;
  Spread hottest_utilization;  // of the most used link of each run; runs without links are left out
  Spread path_changes, level_changes;
  Spread simulated_s, wall_s, peak_rss_mb;
  Spread fast_forward_fraction, fast_forward_error_bound;
  std::vector<HotLink> hottest_links;  // at most kNumHotLinks, most used first
  std::vector<JobSummary> jobs;        // by id
};

inline constexpr size_t kNumHotLinks = 3;

// Whether the job has a slowdown that is only known to be at least so much.
bool IsBound(const sim::JobResult& job);

// By id. Args: runs of one policy.
std::vector<JobSummary> SummarizeJobs(const std::vector<const sim::RunResult*>& runs);

// One entry per policy, in order of first appearance. Cost: O(jobs + links) of all runs, times log.
std::vector<PolicySummary> SummarizePolicies(const sim::SimulationReport& report);

// The job with the highest mean slowdown (lowest id of equals); null when none is known.
const JobSummary* FindWorstJob(const PolicySummary& summary);
// Null when the policy has no such job.
const JobSummary* FindJob(const PolicySummary& summary, JobId id);
// The policy's first run; it exists for every policy of the report.
const sim::RunResult& FirstRun(const sim::SimulationReport& report, const std::string& policy);

}  // namespace fairlead::report
