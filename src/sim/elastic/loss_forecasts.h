// How much of a job is left, from the loss log that it writes: the paper's classifier and curve fits.
//
// Problem     a log says nothing at first, and some say nothing to the end; what a curve promises is wrong by so much.
// Method      logs are drawn by prediction/job_generator: a job's target loss is what its ideal curve reaches at its
//             end, and its log is as far as its training is. A forest learned from jobs of another seed scores it after
//             epochs, at least 240 s apart; two scores in a row of 0.5 and more make it predictable, and then the
//             convergence model tells what is left. A prediction that moves by more than half of what is left, twice in
//             a row, is withdrawn. Errors: the 80 % interval, split conformal over the first predictions for jobs that
//             ended since (prediction/service_history.h); before there are four of them, the 20 % of the labels.
// Cost        an evaluation for each job and 240 s; half a second to learn from 120 jobs.
// Guarantees  same arguments and observations, same forecasts. No truth is looked at but the losses so far.
// Differs     the logs' epochs are those of the generator (30 to 80 of a run), not of the job's profile.
// Reference   Zhao et al., AITurbo, HPDC 2021; prediction/predictability.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "prediction/job_generator.h"
#include "prediction/predictability.h"
#include "prediction/predictability_model.h"
#include "sim/elastic/elastic_job.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

// ln(iterations) is normal, as far as it is known.
struct CurveForecast {
  double iterations = 0;  // left
  double log_sigma = 0;
};

class LossForecasts {
 public:
  // Args: num_training_jobs: jobs that ended before the run begins. Errors: kInvalidArgument for training jobs that
  // teach nothing.
  static Result<LossForecasts> Create(const std::vector<ElasticJobSpec>& workload, uint64_t seed,
                                      size_t num_training_jobs);

  // After an interval in which job `j`, which is `job`, trained, or ended.
  void Observe(uint32_t j, const ElasticJob& job, double now_s);

  // Nothing while the job is not predictable.
  std::optional<CurveForecast> Remaining(uint32_t j) const;

  // Evaluations that made a job predictable, and predictions that were withdrawn.
  uint32_t num_flips() const;
  uint32_t num_withdrawn() const;

 private:
  // Iterations of the log: where the job was, and where it would end.
  struct Prediction {
    double made_at = 0;
    double end = 0;
  };
  struct Log {
    prediction::GeneratedJob generated;
    double end = 0;  // iterations of the log when the job ends
    size_t num_seen = 0;
    prediction::PredictabilityState state;
    std::optional<Prediction> first;  // once predictable
    std::optional<double> predicted_end;
    double remaining_iterations = 0;

    bool is_predictable() const { return state.is_predictable && state.num_withdrawn == 0 && predicted_end; }
  };

  LossForecasts(prediction::PredictabilityModel classifier, std::vector<Log> logs)
      : classifier_(std::move(classifier)), logs_(std::move(logs)) {}
  void Evaluate(Log* log, double log_now, double now_s) const;
  void LearnError(const Log& log);

  prediction::PredictabilityModel classifier_;
  std::vector<Log> logs_;             // [workload]
  std::vector<double> error_ratios_;  // actual over predicted, of jobs that ended
  double log_sigma_;
};

}  // namespace fairlead::sim
