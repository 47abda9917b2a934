// One job inside the simulator of elastic jobs: its resources, the cost of a restart, its progress, and what is known
// about it.
//
// Failures     a job that loses a node goes back to its last checkpoint: written at every planned change of its
//              allocation, and while it trains every checkpoint_s seconds.
// Size         half of the members are accounts: what the job has got, done and lost.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/training_run.h"

namespace fairlead::sim {

// How far predictions are off: each is the truth times exp(sigma * a normal number). Constant over a run.
struct PredictionErrors {
  double remaining_sigma = 0;  // one factor per job
  double speed_sigma = 0;      // one factor per job and size
  uint64_t seed = 1;
};

class ElasticJob {
 public:
  // `spec` must outlive the job. `index` tells jobs apart where errors are drawn.
  ElasticJob(const ElasticJobSpec& spec, const ElasticCluster& cluster, const PredictionErrors& errors, uint32_t index);

  const ElasticJobSpec& spec() const { return *spec_; }
  const TrainingRun& run() const { return *run_; }
  // What policies know.
  const std::vector<scheduling::JobSize>& sizes() const { return sizes_; }
  const Allocation& allocation() const { return allocation_; }
  bool is_running() const { return !allocation_.shares.empty(); }
  bool is_finished() const { return completion_s_.has_value(); }
  std::optional<double> completion_s() const { return completion_s_; }
  double attained_gpu_s() const { return attained_gpu_s_; }
  double attained_core_s() const { return attained_core_s_; }
  double executed_s() const { return executed_s_; }
  // GPU-seconds in restarts, and of training that a failure undid.
  double lost_gpu_s() const { return lost_gpu_s_; }
  // GPU- and core-seconds in which its resources computed.
  const BusyResources& busy_s() const { return busy_s_; }
  // Changes of its allocation after the first start, stops not counted.
  uint32_t num_restarts() const { return num_restarts_.value_or(0); }
  // Trains, and no longer restarts.
  bool is_training() const { return is_running() && restart_left_s_ <= 0 && !is_finished(); }

  // Predictable now: the share of its run that it takes is behind it.
  bool is_predictable() const;
  // At its batch, to the end, as predictions have it.
  double PredictRemainingIterations() const;

  // Another allocation; empty = stop. Called only on a change. A non-empty one costs `restart_s` before training
  // continues.
  void Reallocate(Allocation allocation, double restart_s);
  // The same on other nodes, at no cost. Requires: as many GPUs on each, of the same type.
  void Move(Allocation allocation) { allocation_ = std::move(allocation); }
  // A node of it is lost: it stops, and what it did since its last checkpoint is undone.
  void LoseNode();
  // Holds what it has for `seconds` from `now_s` on, and trains in them. Args: checkpoint_s > 0.
  void Advance(double now_s, double seconds, double checkpoint_s);

 private:
  void Hold(double seconds);
  void Checkpoint();

  const ElasticJobSpec* spec_;
  std::unique_ptr<TrainingRun> run_;
  std::unique_ptr<TrainingRun> checkpoint_;
  double since_checkpoint_s_ = 0;
  double remaining_factor_ = 1;
  std::vector<double> speed_factors_;  // [sizes_] predicted over true time
  std::vector<scheduling::JobSize> sizes_;

  Allocation allocation_;
  double restart_left_s_ = 0;
  std::optional<uint32_t> num_restarts_;

  std::optional<double> completion_s_;
  double attained_gpu_s_ = 0;
  double attained_core_s_ = 0;
  double executed_s_ = 0;
  double lost_gpu_s_ = 0;
  BusyResources busy_s_;
};

}  // namespace fairlead::sim
