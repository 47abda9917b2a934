// What is known of the speed of applications with parameter servers and workers, from measured iterations.
//
// Problem     how long does an iteration take in a configuration that was not measured?
// Method      for each application and kind of worker (on CPUs, on GPUs) a model of prediction/speed_model, fitted
//             again to all measurements of all its jobs, each configuration once. It is used from `fewest` measured
//             configurations on: with fewer, one term claims what belongs to others. Mixed jobs, with workers of both
//             kinds at once, teach nothing, as the model has workers of one kind; what they take follows from both
//             models, as SimulateIteration() splits a batch. A job with one known and one unknown kind of worker gets
//             limits without the unknown one.
// Cost        a fit, O(measured configurations), for each new configuration.
// Guarantees  no time is negative. Same measurements in the same order, same knowledge.
// Differs     CPU curves of both roles are taken as known beforehand: the prototype ships them as constants, and jobs
//             as they are asked for all have the same number of cores, which shows no curve.
// Reference   Zhao et al., AITurbo, HPDC 2021; prediction/speed_model.h.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "prediction/speed_model.h"
#include "scheduling/allocation_policy.h"
#include "sim/elastic/elastic_workload.h"

namespace fairlead::sim {

class LearnedPsSpeeds {
 public:
  // Args: fewest >= 1.
  explicit LearnedPsSpeeds(size_t fewest) : fewest_(fewest) {}

  bool IsMeasured(const std::string& application, const prediction::ServerConfiguration& configuration) const;
  // Adds a configuration that is not measured yet; `observation` has workers of one kind, and a positive time.
  void Measure(const PsApplication& application, const prediction::SpeedObservation& observation);

  // What policies may know about `job` in the configuration `config`: the limits, and the time of an iteration. No
  // function as long as the speed of the workers that it asks for, or has, is unknown. Valid while this lives, and
  // until the next measurement of its application.
  scheduling::PsWorkerJob Describe(const ElasticJobSpec& job, const scheduling::PsWorkerConfig& config) const;

 private:
  // Of one application.
  struct Knowledge {
    std::set<std::array<double, 6>> configurations;
    std::vector<prediction::SpeedObservation> on_cpus;
    std::vector<prediction::SpeedObservation> on_gpus;
    PsApplication learned;  // models as last fitted
  };

  bool IsKnown(const std::vector<prediction::SpeedObservation>& measured) const { return measured.size() >= fewest_; }

  size_t fewest_;
  std::map<std::string, Knowledge> applications_;
};

}  // namespace fairlead::sim
