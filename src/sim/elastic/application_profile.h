// How fast an application trains on a placement, and how its training converges: tables that were measured, or
// generated.
//
// Reference   the simulator of Qiao et al., Pollux, OSDI 2021: Application.get_throughput, .get_grad_stats.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "sim/elastic/scattered_interpolation.h"

namespace fairlead::sim {

// GPUs per node in the order of allocation, none zero: {4, 2}.
using GpusPerNode = std::vector<uint32_t>;

// Seconds of one pass over a local batch, and the part of them that is spent on synchronisation.
struct PassTime {
  double pass_s = 0;
  double sync_s = 0;
};

struct PlacementRow {
  GpusPerNode placement;  // the lexicographically smallest rotation
  double local_batch = 0;
  PassTime time;
};

struct ScalabilityRow {
  double num_nodes = 0;
  double num_gpus = 0;
  double local_batch = 0;
  PassTime time;
};

// One epoch of a run with a fixed batch.
struct EpochRow {
  double progress = 0;    // in iterations at the first batch, since the start
  double iterations = 0;  // at this batch, since the start
  double grad_sqr = 0;
  double grad_var = 0;
};

// Batch sizes at which an application may train.
struct BatchLimits {
  uint32_t first = 0;  // the batch that progress is counted in
  uint32_t max = 0;
  uint32_t local_min = 0;  // per GPU and pass
  uint32_t local_max = 0;
};

struct ProfileTables {
  std::string name;
  BatchLimits limits;
  uint32_t num_epochs = 0;
  uint32_t max_gpus = 0;  // 0 = limited by the batch only
  std::vector<PlacementRow> placements;
  std::vector<ScalabilityRow> scalability;
  std::map<uint32_t, std::vector<EpochRow>> validations;  // [global batch][epoch]
  // The largest local batch of a placement is what was measured there, not `limits.local_max`: as in Sia's simulator.
  bool local_max_as_measured = false;
};

// Noise of gradients; decides how much larger batches help.
struct GradientStats {
  double sqr = 0;
  double var = 0;
};

class ApplicationProfile {
 public:
  // Errors: kInvalidArgument naming the table and what is missing or not ascending.
  static Result<ApplicationProfile> Create(ProfileTables tables);

  const std::string& name() const { return tables_.name; }
  const BatchLimits& limits() const { return tables_.limits; }
  uint32_t num_epochs() const { return tables_.num_epochs; }
  // Most GPUs that a global batch can use.
  uint32_t MaxGpus(uint32_t global_batch) const;

  // Nothing where the tables don't reach: a local batch outside what was measured, or a placement outside the hull.
  // Measured placements are interpolated in the batch, others in (nodes, GPUs, batch). Cost: O(log rows), else O(rows).
  std::optional<PassTime> QueryPass(const GpusPerNode& placement, uint32_t local_batch) const;
  // limits(), for one placement.
  BatchLimits LimitsOf(const GpusPerNode& placement) const;
  // Samples/s of one GPU, as Sia compares types: largest local batch over largest time. 0 = not measured.
  double single_gpu_rate() const { return single_gpu_rate_; }

  // Iterations at the first batch until `epoch` (from 0) is finished.
  double ProgressAtEndOf(uint32_t epoch) const { return progress_[epoch]; }
  GradientStats QueryGradients(double global_batch, uint32_t epoch) const;
  // Iterations at this batch until `epoch` is finished.
  double IterationsAtEndOf(double global_batch, uint32_t epoch) const;

 private:
  ApplicationProfile(ProfileTables tables, Triangulation triangulation);
  // The value of `column` at this batch: linear between the two tables around it, constant beyond them.
  double Interpolate(double global_batch, uint32_t epoch, double EpochRow::*column) const;
  std::optional<PassTime> QueryMeasured(std::span<const PlacementRow> rows, double local_batch) const;

  ProfileTables tables_;
  std::map<GpusPerNode, std::vector<PlacementRow>> rows_of_;
  std::vector<double> progress_;       // [epoch]
  std::vector<PassTime> point_times_;  // [point of the triangulation]
  Triangulation triangulation_;
  double single_gpu_rate_ = 0;
};

// The lexicographically smallest rotation of a placement.
GpusPerNode SmallestRotation(const GpusPerNode& placement);

// `num_gpus` on as few nodes as possible: full ones and a rest.
GpusPerNode DensePlacement(uint32_t num_gpus, uint32_t gpus_per_node);

// How a global batch is split over GPUs: passes of `local_batch`, of which all but one only accumulate.
struct BatchSplit {
  uint32_t local_batch = 0;
  uint32_t num_accumulations = 0;

  double GlobalBatch(uint32_t num_gpus) const {
    return static_cast<double>(num_gpus) * local_batch * (num_accumulations + 1);
  }
};

// When one GPU has to accumulate.
enum class SingleGpuRule : uint8_t {
  kLargeBatches,  // only above the first batch: how jobs run
  kAlways,        // how Optimus' predictor of the benchmark assumes it
};
BatchSplit SplitBatch(const BatchLimits& limits, uint32_t num_gpus, uint32_t global_batch, SingleGpuRule rule);

// Seconds of one iteration.
inline double IterationSeconds(const PassTime& time, uint32_t num_accumulations) {
  return time.pass_s + num_accumulations * (time.pass_s - time.sync_s);
}

}  // namespace fairlead::sim
