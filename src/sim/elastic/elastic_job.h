// One job inside the simulator of elastic jobs: what it holds, how far it has come, what it is known to need.
//
// Reference   Job of the Pollux benchmark's simulator: same arithmetic, same order of operations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "scheduling/allocation_policy.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

// What jobs run on.
struct ElasticCluster {
  uint32_t num_nodes = 16;
  uint32_t gpus_per_node = 4;
  uint32_t cores_per_node = 0;  // 0 = cores don't count
  uint32_t cores_per_gpu = 0;   // that every job needs

  uint32_t num_gpus() const { return num_nodes * gpus_per_node; }
  // Errors: kInvalidArgument for no node, no GPU, or a GPU that needs more cores than its node has.
  Status Validate() const;
};

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
  // [GPUs - 1] what policies are told.
  const std::vector<scheduling::JobSize>& sizes() const { return sizes_; }
  uint32_t requested_size() const { return requested_size_; }
  const std::vector<scheduling::NodeShare>& shares() const { return shares_; }
  uint32_t num_gpus() const { return num_gpus_; }
  bool is_finished() const { return completion_s_.has_value(); }
  std::optional<double> completion_s() const { return completion_s_; }
  double attained_gpu_s() const { return attained_gpu_s_; }
  double executed_s() const { return executed_s_; }
  // Changes of its nodes after the first start, stops not counted.
  uint32_t num_restarts() const { return num_restarts_.value_or(0); }
  bool was_started() const { return num_restarts_.has_value(); }
  // Times that it had to run on a placement of which no time is known, and took that of the densest one.
  uint32_t num_unknown_placements() const { return num_unknown_placements_; }

  // Predictable now: the share of its run that it takes is behind it.
  bool is_predictable() const;
  // At its batch, to the end, as predictions have it. Whole epochs, as in the reference.
  double PredictRemainingIterations() const;
  // Seconds from scratch to the end on so many GPUs, densely placed; nothing where that is unknown.
  std::optional<double> RunSecondsAlone(uint32_t num_gpus) const;

  // New nodes; empty = stop. Called only on a change. A non-empty one costs `restart_s` before training goes on.
  void Reallocate(std::vector<scheduling::NodeShare> shares, double restart_s);
  // Trains for `seconds` from `now_s` on.
  void Advance(double now_s, double seconds);

 private:
  double Goodput(double iteration_s) const;
  PassTime CurrentPass();
  void Hold(double seconds);

  const ElasticJobSpec* spec_;
  uint32_t gpus_per_node_;
  double remaining_factor_ = 1;
  std::vector<scheduling::JobSize> sizes_;
  uint32_t requested_size_ = 0;

  std::vector<scheduling::NodeShare> shares_;
  GpusPerNode placement_;
  uint32_t num_gpus_ = 0;
  BatchSplit split_;
  double iteration_s_ = 0;
  double restart_left_s_ = 0;
  std::optional<uint32_t> num_restarts_;
  uint32_t num_unknown_placements_ = 0;

  double progress_ = 0;
  uint32_t epoch_ = 0;
  std::optional<double> completion_s_;
  double attained_gpu_s_ = 0;
  double executed_s_ = 0;
};

}  // namespace fairlead::sim
