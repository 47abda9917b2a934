// Knowledge about jobs that has to be learned: instead of true speeds and remaining iterations, policies get what
// classifier, convergence model and speed model derive from observations.
//
// Problem     how much of a policy's gain remains without the truth?
// Method      lengths  declared epochs, jobs that ended (length_forecasts.h), loss curves (loss_forecasts.h), or the
//                      former two joined with the last.
//             speeds   every configuration that a job trains in is measured, with 2 % noise; a model for each
//                      application is fitted to all that was measured, of whichever job. Before the first measurement
//                      nothing is known; of parameter servers, before the seventh: learned_ps_speeds.h.
// Cost        a fit for each new configuration of an application, an evaluation for each job and 240 s.
// Guarantees  same options and workload, same knowledge. No number of the simulation is looked at beyond the losses so
//             far, the measured times and the CPU curves. A job whose spec says "never predictable" never is from
//             curves alone.
// Reference   Zhao et al., AITurbo, HPDC 2021; prediction/predictability.h, allreduce_speed_model.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "prediction/allreduce_speed_model.h"
#include "sim/elastic/elastic_job.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/learned_ps_speeds.h"
#include "sim/elastic/length_forecasts.h"
#include "sim/elastic/loss_forecasts.h"
#include "sim/elastic/own_measurements.h"

namespace fairlead::sim {

// Where remaining times come from.
enum class LengthSource : uint8_t {
  kCurves,    // loss curves: classifier and convergence model
  kDeclared,  // epochs that users declare, and jobs that ended
  kHistory,   // jobs that ended
  kOwnSteps,  // steps that users declare and jobs report; speeds are each job's own, too (own_measurements.h)
};

struct LearnedOptions {
  LengthSource lengths = LengthSource::kCurves;
  // With kDeclared and kHistory: jobs write loss logs, too, and what these say is joined with the rest.
  bool has_loss_curves = false;
  uint64_t seed = 1;
  size_t num_training_jobs = 120;  // finished before the run begins
  double speed_noise = 0.02;       // sigma of a measured time, relative
  // Configurations of parameter servers that are measured before the model of their application is used: as many as
  // it has coefficients. Lower: used earlier, and wrong more often.
  size_t fewest_ps_configurations = prediction::kNumSpeedTerms;
};

class LearnedModels {
 public:
  // `workload` must outlive it. Errors: kInvalidArgument for training jobs that teach nothing, and for a model that is
  // used before anything is measured.
  static Result<LearnedModels> Create(const std::vector<ElasticJobSpec>& workload, const ElasticCluster& cluster,
                                      const LearnedOptions& options);

  // After an interval in which job `j` trained.
  // Args: trained_s: in that interval, by the clock.
  void Observe(uint32_t j, const ElasticJob& job, double now_s, double trained_s);

  // Iterations that job `j`, which is `job`, has left; nothing while it is not predictable.
  std::optional<double> RemainingIterations(uint32_t j, const ElasticJob& job) const;
  // As last learned; times of 0 where nothing is known.
  const std::vector<scheduling::JobSize>& sizes(uint32_t j) const;
  // Configurations of `job`, which is job `j`, with times as last learned; null where it has none. Valid until the next
  // Observe() or ps_worker() of this job.
  const scheduling::PsWorkerJob* ps_worker(uint32_t j, const ElasticJob& job) const;

  // Evaluations that made a job predictable, and predictions that were withdrawn.
  uint32_t num_flips() const;
  uint32_t num_withdrawn() const;

 private:
  struct JobKnowledge {
    const ElasticJobSpec* spec = nullptr;
    size_t num_observations = 0;  // of its application, when `sizes` was made
    std::vector<scheduling::JobSize> sizes;
    scheduling::PsWorkerJob ps_worker;
  };
  struct Speeds {
    std::map<std::tuple<double, double, double, double>, size_t> known;  // configuration -> observation
    std::vector<prediction::ReplicaObservation> observations;
    prediction::ReplicaSpeedModel model;  // of the first num_fitted of them
    size_t num_fitted = 0;

    // To be called before `model` is used; costs a fit where there are new observations.
    void Refit();
  };

  LearnedModels(const ElasticCluster& cluster, const LearnedOptions& options);
  void Measure(const ElasticJob& job);
  double DrawNoise();  // a factor
  void MeasureReplicas(const ElasticJob& job, prediction::ReplicaObservation observation);
  void MeasureServers(const ElasticJob& job, prediction::SpeedObservation observation);
  void RefreshSizes(JobKnowledge* job) const;
  void RefreshPsSizes(JobKnowledge* job) const;

  double RequestedSeconds(uint32_t j, const ElasticJob& job) const;

  ElasticCluster cluster_;
  LearnedOptions options_;
  Random noise_;
  mutable std::vector<JobKnowledge> jobs_;        // [workload]
  mutable std::map<std::string, Speeds> speeds_;  // by application
  LearnedPsSpeeds ps_speeds_;
  std::optional<LengthForecasts> lengths_;  // where they come from declared epochs or jobs that ended
  std::optional<LossForecasts> curves_;     // from loss curves
  std::optional<OwnMeasurements> own_;      // with kOwnSteps, which needs nothing else of all this
};

}  // namespace fairlead::sim
