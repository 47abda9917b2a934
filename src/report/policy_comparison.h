// What changed between two policies on the same draws, goal by goal: better, worse, or not distinguishable.
//
// A policy has several goals, and winning one at the price of another is a trade, not a win: no single number shows
// which is ahead. Runs are compared in pairs of equal draw, so that the luck of a draw cancels out of the difference,
// and only over the same time: the start of a run is not like the whole of it. Of runs that ended at different
// instants, after Ctrl-C say, the common beginning is compared, as far as the timeline tells it: how busy GPUs were.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "report/run_summary.h"
#include "sim/run_result.h"

namespace fairlead::report {

// A job with a slowdown that moved by less than this fraction counts as unchanged.
inline constexpr double kUnchangedSlowdown = 0.01;

enum class Goal {
  kBusy,           // share of held GPU time that is computed, 0..1; more is better, as is the next
  kFlopWeighted,   // FLOP done of those at peak, 0..1
  kMeanSlowdown,   // over jobs; less is better, as are the next
  kWorstSlowdown,  // of the slowest job
  kStalledJobs,    // jobs that were stalled at the end of a run: stalled or cut off
  kGpuHoursLost,   // per run
};
inline constexpr Goal kGoals[] = {Goal::kBusy,          Goal::kFlopWeighted, Goal::kMeanSlowdown,
                                  Goal::kWorstSlowdown, Goal::kStalledJobs,  Goal::kGpuHoursLost};

// "busy", "flop_weighted", "mean_slowdown", "worst_slowdown", "stalled_jobs", "gpu_hours_lost".
std::string_view GoalName(Goal goal);

enum class Verdict {
  kBetter,        // the interval of the difference leaves out 0, and the difference is visible
  kWorse,         // the same, the other way
  kNoDifference,  // neither
  kOneDraw,       // there is one pair: nothing is known about chance
  kNotCompared,   // no pair, a number that is unknown, or bounds that don't say which is greater
};

// "better", "worse", "no difference", "one draw", "not compared".
std::string_view VerdictName(Verdict verdict);

// One goal. All three are over the pairs; unknown where the verdict is kNotCompared.
struct GoalChange {
  Goal goal = Goal::kBusy;
  Spread before;      // under the baseline
  Spread after;       // under the candidate
  Spread difference;  // after - before
  Verdict verdict = Verdict::kNotCompared;
  // Of a slowdown: a job was stalled, so that the number is a lower bound.
  bool before_is_bound = false;
  bool after_is_bound = false;
};

// The least mean difference that is called one: 0.1 points of utilization; a hundredth of what the baseline has of a
// slowdown or of lost GPU-hours; any number of jobs.
double VisibleDifference(Goal goal, double before);

// One job under both policies; numbers are means over the pairs.
struct JobChange {
  JobId id;
  std::string name;
  uint32_t num_gpus = 0;
  double slowdown_before = 0;        // under the baseline; 0 = unknown
  double slowdown_after = 0;         // under the candidate; 0 = unknown
  bool before_is_bound = false;      // at least so much
  bool after_is_bound = false;       // the same
  double gpu_hours_won_per_day = 0;  // < 0: it lost more under the candidate
  double yielded_s = 0;              // per run under the candidate: lost to more important jobs
  uint32_t level = 0;                // under the candidate

  bool comparable() const { return slowdown_before > 0 && slowdown_after > 0; }
  bool faster() const { return comparable() && slowdown_after < slowdown_before * (1 - kUnchangedSlowdown); }
  bool slower() const { return comparable() && slowdown_after > slowdown_before * (1 + kUnchangedSlowdown); }
};

struct PolicyComparison {
  std::string baseline;
  std::string candidate;
  size_t num_pairs = 0;               // draws of equal simulated time: every goal is compared
  size_t num_pairs_in_part = 0;       // of unequal times: busy alone, over the bins that both reached
  std::vector<std::string> left_out;  // sentences: draws that are not compared, or not in full, and why
  std::vector<GoalChange> goals;      // in the order of kGoals
  // Over the pairs, candidate minus baseline.
  Spread gpu_hours_won_per_day;  // > 0: less is lost
  Spread colliding_links_gain;
  Spread vs_ideal_gain;
  double colliding_links_before = 0;
  double colliding_links_after = 0;
  std::vector<JobChange> jobs;  // jobs of both policies; most GPU-hours won first, then by id

  const GoalChange& Of(Goal goal) const { return goals[static_cast<size_t>(goal)]; }
};

// Args: names of two policies of the report.
PolicyComparison Compare(const sim::SimulationReport& report, const std::string& baseline,
                         const std::string& candidate);

// Every policy against the baseline, which is "ecmp" where it was run and the first policy otherwise. Empty for fewer
// than two policies.
std::vector<PolicyComparison> CompareWithBaseline(const sim::SimulationReport& report,
                                                  const std::vector<PolicySummary>& summaries);

// Change relative to what was before: 0.111 of 0.612 is 0.181; empty when that is 0 or unknown.
std::optional<double> RelativeChange(const Spread& gain, const Spread& baseline);

// A goal's number as people read it: "62.0 %", "1.50x", ">= 40x", "3", "5.33"; and a difference of two: "+9.0 points",
// "-0.20x", "+1", "-3.33".
std::string FormatGoal(Goal goal, double value, bool is_bound = false);
std::string FormatGoalDifference(Goal goal, double difference);
// The interval of a difference, in the same unit: "+3.1 to +4.9".
std::string FormatGoalInterval(Goal goal, const Spread& difference);
// "busy", "FLOP-weighted", "mean slowdown", "worst slowdown", "stalled jobs", "GPU-hours lost".
std::string_view GoalLabel(Goal goal);

// One line that names the trade: "crux against ecmp: +4.0 points busy (+3.1 to +4.9), worst job 1.80x slower; mean
// slowdown: no difference". Names are clean text.
std::string SummarizeTrade(const PolicyComparison& comparison);
// Plain sentences about the winners and losers, each with its numbers. Names in them are clean text.
std::vector<std::string> ExplainDifference(const PolicyComparison& comparison);

}  // namespace fairlead::report
