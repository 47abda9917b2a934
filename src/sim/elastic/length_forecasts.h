// How much of a job is left, from what its user declares and from jobs that ended before: no truth is looked at but
// what a job's progress bar shows, epochs and iterations so far.
//
// Problem     most jobs end before a loss curve says anything; but users say how many epochs a job shall run, and jobs
//             of the same kind (application and batch) have run before or run beside it.
// Method      declared  the kind's curve of iterations by epochs, as far as any of its jobs has come, is continued by
//                       its last slope to the epochs that are expected: remaining = curve(expected) - curve(now).
//                       Known as soon as a job of the kind has trained for one interval. Expected are the declared
//                       ones times what jobs that ended had of theirs (prediction/service_history.h), given how far
//                       this one has come; so a job that overruns grows again, and users who are always right are
//                       believed to the letter. Where the 80 % interval is wider than a factor of 8: history.
//             history   nothing is declared: total service of jobs that ended, in GPU-seconds at the requested size,
//                       by all, application, application and batch (prediction/service_history.h); what is left is the
//                       mean of what jobs had left that got as far. Known where the 80 % interval is at most a factor
//                       of 8 wide. A job that overruns grows again.
//             curves    what the loss curve of a job says (loss_forecasts.h) is joined with the above: logarithms of
//                       what is left, weighted by the inverse of their variances; alone where nothing else is known.
//                       Declared epochs are the most that a job trains for: before any job has ended and has shown
//                       whether they are kept, a curve that ends before them, by more than its interval, is believed.
//                       Once they are known to be kept to the letter, curves are not asked.
// Guarantees  same observations, same forecasts. A job that declares nothing is never treated as if it had.
// Reference   remaining epochs: Optimus, EuroSys 2018, where a job says its steps; pooling by kind is ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "prediction/service_history.h"
#include "sim/elastic/elastic_job.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/loss_forecasts.h"

namespace fairlead::sim {

class LengthForecasts {
 public:
  // Args: uses_declared: false: nobody says how long a job shall be. uses_history: jobs that ended are remembered.
  LengthForecasts(bool uses_declared, bool uses_history) : uses_declared_(uses_declared), uses_history_(uses_history) {}

  // After an interval in which the job trained, or ended. Args: iteration_s: seconds of an iteration at the requested
  // size, as far as known; 0: unknown. Looked at where the job has ended.
  void Observe(const ElasticJob& job, double iteration_s);

  // Iterations that the job has left; nothing where it can't be said. Args: iteration_s as above; curve: what its own
  // loss curve says, if anything.
  std::optional<double> Remaining(const ElasticJob& job, double iteration_s,
                                  const std::optional<CurveForecast>& curve = std::nullopt) const;

 private:
  // (epochs, iterations) of the job of the kind that has come furthest, ascending in both.
  using Curve = std::vector<std::pair<double, double>>;
  // What is left, in epochs or iterations.
  struct Forecast {
    double left = 0;
    double log_sigma = 0;    // of its logarithm; 0: as users declare it
    bool is_proved = false;  // jobs that ended have kept to what was declared
  };
  static std::vector<std::string> KeysOf(const ElasticJobSpec& spec);
  std::optional<Forecast> FromDeclared(const ElasticJob& job) const;
  // Epochs that the job has left; nothing where declarations of its kind say too little. Args: declared: in all; done.
  std::optional<Forecast> EpochsLeft(const ElasticJob& job, double declared, double done) const;
  std::optional<Forecast> FromHistory(const ElasticJob& job, double iteration_s) const;
  static double Join(const Forecast& forecast, const CurveForecast& curve);

  bool uses_declared_;
  bool uses_history_;
  std::map<std::string, Curve> curves_;  // by kind
  prediction::ServiceHistory kept_;      // epochs over declared ones, of jobs that ended
  prediction::ServiceHistory history_;
};

}  // namespace fairlead::sim
