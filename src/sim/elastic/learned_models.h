// Knowledge about jobs that has to be learned: instead of true speeds and remaining iterations, policies get what
// classifier, convergence model and speed model derive from observations.
//
// Problem     how much of a policy's gain remains without the truth?
// Method      curves   every job writes a loss log, drawn by prediction/job_generator (its target loss is what its
//                      ideal curve reaches at its end), which is as far as the job's training is. A forest learned from
//                      jobs of another seed scores it after epochs, at least 240 s apart; two scores in a row of 0.5
//                      and more make it predictable, and then the convergence model gives the remaining service. A
//                      prediction that moves by more than half of the remaining service, twice in a row, is withdrawn.
//             speeds   every configuration that a job trains in is measured, with 2 % noise; a model for each
//                      application is fitted to all that was measured, of whichever job. Before the first measurement
//                      nothing is known; of parameter servers, before the seventh: learned_ps_speeds.h.
// Cost        a fit for each new configuration of an application, an evaluation for each job and 240 s.
// Guarantees  same options and workload, same knowledge. No number of the simulation is looked at beyond the losses so
//             far, the measured times and the CPU curves. A job whose spec says "never predictable" never is.
// Differs     the logs' epochs are those of the generator (30 to 80 of a run), not of the job's profile.
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
#include "prediction/job_generator.h"
#include "prediction/predictability.h"
#include "prediction/predictability_model.h"
#include "sim/elastic/elastic_job.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/learned_ps_speeds.h"
#include "sim/elastic/length_forecasts.h"
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
    prediction::GeneratedJob log;
    double log_end = 0;  // iterations of the log when the job ends
    size_t num_seen = 0;
    prediction::PredictabilityState state;
    double remaining_iterations = 0;
    double predicted_end = 0;     // in iterations of the log
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

  LearnedModels(std::optional<prediction::PredictabilityModel> classifier, const ElasticCluster& cluster,
                const LearnedOptions& options);
  void Measure(const ElasticJob& job);
  double DrawNoise();  // a factor
  void MeasureReplicas(const ElasticJob& job, prediction::ReplicaObservation observation);
  void MeasureServers(const ElasticJob& job, prediction::SpeedObservation observation);
  void Evaluate(JobKnowledge* job, const ElasticJob& running, double now_s);
  void RefreshSizes(JobKnowledge* job) const;
  void RefreshPsSizes(JobKnowledge* job) const;

  double RequestedSeconds(uint32_t j, const ElasticJob& job) const;

  std::optional<prediction::PredictabilityModel> classifier_;  // of curves
  ElasticCluster cluster_;
  LearnedOptions options_;
  Random noise_;
  mutable std::vector<JobKnowledge> jobs_;        // [workload]
  mutable std::map<std::string, Speeds> speeds_;  // by application
  LearnedPsSpeeds ps_speeds_;
  std::optional<LengthForecasts> lengths_;  // where they come from declared epochs or jobs that ended
  std::optional<OwnMeasurements> own_;      // with kOwnSteps, which needs nothing else of all this
};

}  // namespace fairlead::sim
