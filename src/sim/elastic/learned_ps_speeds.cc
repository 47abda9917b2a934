#include "sim/elastic/learned_ps_speeds.h"

#include <algorithm>

namespace fairlead::sim {
namespace {

using prediction::ServerConfiguration;
using prediction::SpeedObservation;

std::array<double, 6> KeyOf(const ServerConfiguration& c) {
  return {c.workers, c.servers, c.global_batch, c.gpus, c.worker_cores, c.server_cores};
}

}  // namespace

bool LearnedPsSpeeds::IsMeasured(const std::string& application, const ServerConfiguration& configuration) const {
  const auto known = applications_.find(application);
  return known != applications_.end() && known->second.configurations.contains(KeyOf(configuration));
}

void LearnedPsSpeeds::Measure(const PsApplication& application, const SpeedObservation& observation) {
  Knowledge& knowledge = applications_[application.name];
  if (!knowledge.configurations.insert(KeyOf(observation.configuration)).second) return;
  const bool on_gpus = observation.configuration.gpus > 0;
  std::vector<SpeedObservation>& measured = on_gpus ? knowledge.on_gpus : knowledge.on_cpus;
  measured.push_back(observation);
  const prediction::SpeedModel& truth = on_gpus ? application.gpu_workers : application.cpu_workers;
  // Of the truth only the parts known beforehand: the curves, and that servers share an update.
  auto fitted = prediction::FitSpeedModel(measured, truth.options);
  if (fitted.ok()) (on_gpus ? knowledge.learned.gpu_workers : knowledge.learned.cpu_workers) = *fitted;
}

scheduling::PsWorkerJob LearnedPsSpeeds::Describe(const ElasticJobSpec& job,
                                                  const scheduling::PsWorkerConfig& config) const {
  scheduling::PsWorkerJob described;
  described.config = config;
  described.limits = job.ps_application->limits;
  const auto found = applications_.find(job.ps_application->name);
  if (found == applications_.end()) return described;
  const Knowledge& knowledge = found->second;
  const bool knows_cpus = IsKnown(knowledge.on_cpus);
  const bool knows_gpus = IsKnown(knowledge.on_gpus);
  const auto is_known = [&](const scheduling::PsWorkerConfig& c) {
    return (c.num_gpus == c.num_workers || knows_cpus) && (c.num_gpus == 0 || knows_gpus);
  };
  if (!is_known(config) || !is_known(job.requested_config)) return described;
  if (!knows_gpus) described.limits.max.num_gpus = 0;
  // A worker without a GPU may still come up between two operations: it is expected to add nothing.
  if (!knows_cpus) described.limits.min.num_gpus = std::max(described.limits.min.num_gpus, 1u);
  described.iteration_s = [&learned = knowledge.learned, batch = static_cast<double>(job.global_batch)](const auto& c) {
    return SimulateIteration(learned, c, batch).iteration_s;
  };
  return described;
}

}  // namespace fairlead::sim
