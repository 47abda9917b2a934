// Simulates a cluster of elastic jobs under an allocation policy: which jobs run where, how long jobs take, what
// restarts cost.
//
// Method       time goes in intervals. In each: all jobs train with the allocation they have; the clock advances; those
//              that have arrived and not ended are passed to the policy; a job with changed nodes restarts, which costs
//              time. A job that comes is first seen at the end of its interval. Nodes fail and return at ends of
//              intervals: jobs on a failed one go back to their last checkpoint and wait; policies see the nodes that
//              are left.
// Guarantees   a pure function of its arguments. Every job ends, or the result says that it did not.
// Reference    simulator.py of the Pollux benchmark (OSDI 2021): reproduces its published averages
//              (elastic_published_test).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "scheduling/decision_record.h"
#include "sim/elastic/elastic_job.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/learned_models.h"
#include "sim/elastic/node_failures.h"

namespace fairlead::sim {

struct ElasticOptions {
  ElasticCluster cluster;
  scheduling::ResourceUnits units;  // in which service is counted
  double interval_s = 60;
  double restart_s = 30;  // also at the first start; parameter servers and workers: as their application says
  // A job goes on without a restart on other nodes of the same type, as many GPUs on each: as in Sia's simulator.
  bool moves_are_free = false;
  std::vector<NodeEvent> node_events;
  double checkpoint_s = 600;  // time of training between two checkpoints; what came after the last one a failure undoes
  // False: the policy is asked in every interval. True: only after arrivals, ends, flips, and at its wake-up time.
  bool only_events = false;
  PredictionErrors errors;
  // Set: policies get what can be learned, instead of the truth with `errors`.
  std::optional<LearnedOptions> learned;
  double give_up_s = 3e6;                 // jobs that have not ended by then are reported so
  scheduling::DecisionObserver observer;  // sees every decision; may be empty

  Status Validate() const;
};

// Of a job's time from submission to its end: where predictions of the end are judged.
inline constexpr std::array kForecastShares = {0.25, 0.5, 0.75};

struct ElasticJobResult {
  std::string name;
  std::string tenant = {};
  double submission_s = 0;
  std::optional<double> first_start_s;
  std::optional<double> completion_s;
  double waited_s = 0;  // without resources, in all
  double attained_gpu_s = 0;
  double attained_core_s = 0;
  double lost_gpu_s = 0;  // in restarts, and of training that a failure undid
  uint32_t requested_gpus = 0;
  uint32_t num_restarts = 0;
  uint32_t num_failures = 0;  // stops because a node failed
  uint32_t num_stops = 0;
  uint32_t num_unknown_placements = 0;
  // [kForecastShares] of the last prediction until then: (predicted end - true end) / (true end - when it was made).
  // Predicted is that the job goes on at the size that it has; nothing where nothing had been predicted.
  std::array<std::optional<double>, kForecastShares.size()> forecast_errors;
  double alone_s = 0;  // from scratch on its requested GPUs; 0 = unknown

  double jct_s() const { return completion_s.value_or(0) - submission_s; }
};

// Resources in use during one interval.
struct ElasticInterval {
  double begin_s = 0;
  double gpus = 0;  // held by jobs
  double cores = 0;
  BusyResources busy;     // of these: those that compute
  uint32_t num_jobs = 0;  // submitted and not ended
};

struct ElasticResult {
  std::vector<ElasticJobResult> jobs;  // [workload]
  std::vector<ElasticInterval> intervals;
  uint32_t num_decisions = 0;
  uint32_t num_flips = 0;      // jobs that learned models held for predictable
  uint32_t num_withdrawn = 0;  // of these: those with a withdrawn prediction
  bool is_complete = true;     // all jobs ended
};

// Errors: kInvalidArgument for bad options or a bad workload, or what the policy refuses. Ends soon once `stop` is
// true.
Result<ElasticResult> RunElasticSimulation(const std::vector<ElasticJobSpec>& workload,
                                           const scheduling::AllocationPolicy& policy, const ElasticOptions& options,
                                           const std::atomic<bool>* stop = nullptr);

}  // namespace fairlead::sim
