// A job that trains with parameter servers and workers: so many iterations, each as long as its configuration takes.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/ps_application.h"
#include "sim/elastic/training_run.h"

namespace fairlead::sim {

// What `job` asks for with one worker, two, … up to the limit, and servers in proportion.
std::vector<scheduling::PsWorkerConfig> ListConfigs(const ElasticJobSpec& job);

class PsWorkerRun : public TrainingRun {
 public:
  // `spec` and its application must outlive the run.
  explicit PsWorkerRun(const ElasticJobSpec& spec);

  std::unique_ptr<TrainingRun> Clone() const override { return std::make_unique<PsWorkerRun>(*this); }
  // Those of ListConfigs().
  const std::vector<scheduling::JobSize>& sizes() const override { return sizes_; }
  uint32_t requested_size() const override { return requested_size_; }
  const scheduling::PsWorkerJob* ps_worker() const override { return &ps_worker_; }
  double done_share() const override { return done_ / spec_->num_iterations; }
  bool is_finished() const override { return done_ >= spec_->num_iterations; }
  double RemainingIterations() const override { return spec_->num_iterations - done_; }
  std::optional<double> SecondsAlone() const override;
  // A plan of a policy that knows nothing of configurations takes one of sizes().
  void Place(const Allocation& allocation) override;
  double iteration_s() const override { return iteration_.iteration_s; }
  BusyResources busy() const override { return iteration_.busy; }
  std::optional<prediction::SpeedObservation> ObserveServers() const override;
  double Train(double seconds) override;

 private:
  scheduling::PsWorkerConfig ConfigOf(const Allocation& allocation) const;

  const ElasticJobSpec* spec_;
  scheduling::PsWorkerJob ps_worker_;
  std::vector<scheduling::JobSize> sizes_;
  std::vector<scheduling::PsWorkerConfig> configs_;  // [sizes_]
  uint32_t requested_size_ = 0;
  PsIteration iteration_;
  double done_ = 0;  // iterations
};

}  // namespace fairlead::sim
