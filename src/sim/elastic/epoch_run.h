// A job that trains on GPUs with all-reduce: its progress goes by epochs of a measured profile.
//
// Size        what a job is, what it has been given, and how far it is; each allocation changes the second as a whole.
// Reference   Job of the Pollux benchmark's simulator: same arithmetic, same order of operations.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/elastic/application_profile.h"
#include "sim/elastic/batch_choice.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/fitted_goodput.h"
#include "sim/elastic/training_run.h"

namespace fairlead::sim {

// GPUs on which the job may run in this cluster, ascending, at least one number: what its spec allows, up to what its
// batch and the cluster allow (but at least up to what it asks for).
std::vector<uint32_t> RunnableGpus(const ElasticJobSpec& spec, const ElasticCluster& cluster);

class EpochRun : public TrainingRun {
 public:
  // `spec` and its profile must outlive the run.
  EpochRun(const ElasticJobSpec& spec, const ElasticCluster& cluster);

  std::unique_ptr<TrainingRun> Clone() const override { return std::make_unique<EpochRun>(*this); }
  const std::vector<scheduling::JobSize>& sizes() const override { return sizes_; }
  std::span<const double> type_speeds() const override { return type_speeds_; }
  std::span<const std::vector<double>> type_goodput() const override { return type_goodput_; }
  uint32_t requested_size() const override { return requested_size_; }
  double done_share() const override;
  bool is_finished() const override;
  // At its batch, to the end. Whole epochs, as in the reference. Of a job that chooses its batch: at the first one.
  double RemainingIterations() const override;
  std::optional<TrainingProgress> ObserveProgress() const override;
  std::optional<double> declared_epochs() const override {
    return spec_->declared_factor * spec_->profile->num_epochs();
  }
  std::optional<double> SecondsAlone() const override;
  void Place(const Allocation& allocation) override;
  double iteration_s() const override { return iteration_s_; }
  // All that it holds: profiles don't tell when a GPU waits.
  BusyResources busy() const override;
  uint32_t num_unknown_placements() const override { return num_unknown_placements_; }
  std::optional<prediction::ReplicaObservation> ObserveReplicas() const override;
  double Train(double seconds) override;

 private:
  double Goodput(double iteration_s) const;
  PassTime CurrentPass();
  // Of a job that chooses its batch and is placed.
  void ChooseBatch();
  void BeginEpoch();
  // Of a job that fits models: what it sees, and what policies then know.
  void Learn();
  void RefreshGoodput();
  std::optional<BatchOption> ChooseFitted() const;
  // The type whose GPUs train.
  void ChooseType(const Allocation& allocation);
  BatchLimits Limits() const;
  uint32_t gpus_per_node() const { return cluster_.groups[gpu_type_].gpus_per_node; }
  uint32_t model_type() const { return spec_->fitted == GoodputModels::kByType ? gpu_type_ : 0; }

  const ElasticJobSpec* spec_;
  ElasticCluster cluster_;
  std::vector<scheduling::JobSize> sizes_;  // [RunnableGpus()]
  uint32_t requested_size_ = 0;
  std::vector<double> type_speeds_;                // [gpu type]
  std::shared_ptr<FittedGoodput> fitted_;          // of a job that fits models; kept when a failure undoes training
  std::vector<std::vector<double>> type_goodput_;  // [gpu type][sizes_]

  uint32_t gpu_type_ = 0;
  const ApplicationProfile* profile_ = nullptr;  // on that type; null where it can't run
  uint32_t num_gpus_ = 0;                        // that train
  GpusPerNode placement_;                        // of these
  scheduling::Resources held_;
  std::optional<BatchMenu> placed_menu_;  // of a job that chooses its batch
  bool is_batch_chosen_ = false;          // false: the one that was asked for, as no other's time is known
  BatchSplit split_;
  PassTime pass_;
  double iteration_s_ = 0;
  uint32_t num_unknown_placements_ = 0;

  double progress_ = 0;
  double iterations_ = 0;
  uint32_t epoch_ = 0;
};

}  // namespace fairlead::sim
