// What changed between two policies on the same workload, and why.
//
// Runs are compared in pairs of equal seed, so that the luck of a hash seed cancels out of the difference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "report/run_summary.h"
#include "sim/run_result.h"

namespace fairlead::report {

// A job whose slowdown moved by less than this fraction counts as unchanged.
inline constexpr double kUnchangedSlowdown = 0.01;

// One job under both policies; numbers are means over the seeds.
struct JobChange {
  JobId id;
  std::string name;
  uint32_t num_gpus = 0;
  double slowdown_before = 0;        // under the baseline; 0 = unknown
  double slowdown_after = 0;         // under the candidate; 0 = unknown
  double gpu_hours_won_per_day = 0;  // < 0: it lost more under the candidate
  double yielded_s = 0;              // per run under the candidate: waited for more important jobs
  uint32_t level = 0;                // under the candidate

  bool comparable() const { return slowdown_before > 0 && slowdown_after > 0; }
  bool faster() const { return comparable() && slowdown_after < slowdown_before * (1 - kUnchangedSlowdown); }
  bool slower() const { return comparable() && slowdown_after > slowdown_before * (1 + kUnchangedSlowdown); }
};

// Gains are candidate minus baseline. They are spreads over the pairs; with no seed in common, the difference of the
// two means (deviation 0).
struct PolicyComparison {
  PolicySummary baseline;
  PolicySummary candidate;
  size_t num_pairs = 0;
  Spread busy_gain, flop_weighted_gain, vs_ideal_gain;  // differences of fractions: 0.111 is 11.1 percentage points
  Spread mean_slowdown_gain, p99_slowdown_gain;         // < 0 is better
  Spread gpu_hours_won_per_day;
  Spread colliding_links_gain;
  std::vector<JobChange> jobs;  // jobs of both policies; most GPU-hours won first, then by id

  // Whether the gain in busy fraction is at least as large as its deviation over the pairs, and visible (0.05 points).
  bool IsAhead() const;
  bool IsBehind() const;
};

// Args: two entries of SummarizePolicies(report).
PolicyComparison Compare(const sim::SimulationReport& report, const PolicySummary& baseline,
                         const PolicySummary& candidate);

// Every policy against the baseline, which is "ecmp" where it was run and the first policy otherwise. Empty for fewer
// than two policies.
std::vector<PolicyComparison> CompareWithBaseline(const sim::SimulationReport& report,
                                                  const std::vector<PolicySummary>& summaries);

// relative change of a gain against the baseline's value: 0.111 of 0.612 is 0.181; empty when the baseline is 0 or
// unknown.
std::optional<double> RelativeChange(const Spread& gain, const Spread& baseline);

// "Why crux is ahead of ecmp", "… behind …", or "crux and ecmp: no clear difference".
std::string Headline(const PolicyComparison& comparison);
// Plain sentences, each with its numbers. Names in them are clean text.
std::vector<std::string> ExplainDifference(const PolicyComparison& comparison);

}  // namespace fairlead::report
