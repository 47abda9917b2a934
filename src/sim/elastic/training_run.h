// How far one job's training has come, and how fast it goes: the part of an elastic job that depends on how it trains.
//
// Two implementations: epoch_run.h (all-reduce between GPUs, progress by epochs of a measured profile) and
// ps_worker_run.h (parameter servers and workers on CPUs and GPUs).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "prediction/allreduce_speed_model.h"
#include "prediction/speed_model.h"
#include "scheduling/allocation_policy.h"

namespace fairlead::sim {

// Nodes with GPUs of one type.
struct NodeGroup {
  uint32_t num_nodes = 0;
  uint32_t gpus_per_node = 0;
  std::string gpu_type = {};  // its name; empty where there is only one

  uint32_t num_gpus() const { return num_nodes * gpus_per_node; }
};

// What jobs run on. Nodes are numbered through the groups.
struct ElasticCluster {
  std::vector<NodeGroup> groups = {{16, 4}};  // [gpu type], at least one
  uint32_t cores_per_node = 0;                // 0 = cores don't count
  uint32_t cores_per_gpu = 0;                 // that every job of GPUs alone needs

  uint32_t num_types() const { return static_cast<uint32_t>(groups.size()); }
  uint32_t num_nodes() const;
  uint32_t num_gpus() const;
  // Of the type that has most.
  uint32_t most_gpus_of_type() const;
  uint64_t num_cores() const { return uint64_t{num_nodes()} * cores_per_node; }
  // Args: node: below num_nodes().
  uint32_t TypeOf(HostId node) const;
  scheduling::NodeCapacity CapacityOf(HostId node) const;
  // Errors: kInvalidArgument for no node or no GPU in a group, or a GPU that needs more cores than its node has.
  Status Validate() const;
};

// What a job is given: its part of each node and, for parameter servers and workers, how it is laid out there.
struct Allocation {
  std::vector<scheduling::NodeShare> shares;  // empty = it does not run
  std::optional<scheduling::PsWorkerConfig> config;

  scheduling::Resources resources() const;
  friend bool operator==(const Allocation&, const Allocation&) = default;
};

// GPUs and cores that compute, as an average over an iteration: at most those that are held.
struct BusyResources {
  double gpus = 0;
  double cores = 0;
};

// What a job's progress bar shows.
struct TrainingProgress {
  double epochs = 0;      // with the part of the current one
  double iterations = 0;  // trained so far; what a failure undid is not among them
};

class TrainingRun {
 public:
  virtual ~TrainingRun() = default;
  virtual std::unique_ptr<TrainingRun> Clone() const = 0;

  // What policies may know about the job: its sizes with true times, which of them is requested, and its configurations
  // where it has some. Valid while the run lives.
  virtual const std::vector<scheduling::JobSize>& sizes() const = 0;
  virtual uint32_t requested_size() const = 0;
  virtual const scheduling::PsWorkerJob* ps_worker() const { return nullptr; }
  // [gpu type] true iterations/s at the requested size, 0 where it can't run; empty in clusters of one type.
  virtual std::span<const double> type_speeds() const { return {}; }
  // [gpu type][sizes()] useful iterations/s, as the job's own models have it, 0 = unknown; empty without such models.
  virtual std::span<const std::vector<double>> type_goodput() const { return {}; }

  virtual double done_share() const = 0;  // 0..1
  virtual bool is_finished() const = 0;
  virtual double RemainingIterations() const = 0;
  // Nothing where it does not train by epochs.
  virtual std::optional<TrainingProgress> ObserveProgress() const { return std::nullopt; }
  // Epochs that its user wants, where users say so.
  virtual std::optional<double> declared_epochs() const { return std::nullopt; }
  // Seconds from scratch to the end as requested, densely placed; nothing where that is unknown.
  virtual std::optional<double> SecondsAlone() const = 0;

  // Where it trains from now on; not empty. Of an allocation on several types of GPU, those of the most frequent one
  // train, of the first among equals; the others idle.
  virtual void Place(const Allocation& allocation) = 0;
  // Of the allocation given last.
  virtual double iteration_s() const = 0;
  virtual BusyResources busy() const = 0;
  // Times that it was placed where no time is known, and took that of the densest placement.
  virtual uint32_t num_unknown_placements() const { return 0; }
  // The time of an iteration as it would be measured; nothing where it is not of this kind.
  virtual std::optional<prediction::ReplicaObservation> ObserveReplicas() const { return std::nullopt; }
  // The same for parameter servers with workers of one kind.
  virtual std::optional<prediction::SpeedObservation> ObserveServers() const { return std::nullopt; }
  // Trains for at most `seconds`. Returns the seconds that it took: others than these only when it came to its end.
  virtual double Train(double seconds) = 0;
};

}  // namespace fairlead::sim
