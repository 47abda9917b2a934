#include "sim/elastic/ps_worker_run.h"

#include <algorithm>

#include "base/check.h"

namespace fairlead::sim {
namespace {

using scheduling::PsWorkerConfig;

// The requested configuration with another number of workers.
PsWorkerConfig WithWorkers(const PsWorkerConfig& asked, uint32_t num_workers, const PsWorkerConfig& most) {
  PsWorkerConfig config = asked;
  config.num_workers = num_workers;
  config.num_ps = std::min((num_workers * asked.num_ps + asked.num_workers - 1) / asked.num_workers, most.num_ps);
  if (asked.num_gpus > 0) config.num_gpus = std::min(num_workers, most.num_gpus);
  return config;
}

}  // namespace

std::vector<PsWorkerConfig> ListConfigs(const ElasticJobSpec& job) {
  const scheduling::PsWorkerLimits& limits = job.ps_application->limits;
  std::vector<PsWorkerConfig> configs;
  for (uint32_t n = limits.min.num_workers; n <= limits.max.num_workers; ++n) {
    configs.push_back(n == job.requested_config.num_workers ? job.requested_config
                                                            : WithWorkers(job.requested_config, n, limits.max));
  }
  return configs;
}

PsWorkerRun::PsWorkerRun(const ElasticJobSpec& spec) : spec_(&spec) {
  ps_worker_.config = spec.requested_config;
  ps_worker_.limits = spec.ps_application->limits;
  ps_worker_.iteration_s = [&spec](const PsWorkerConfig& config) {
    return SimulateIteration(*spec.ps_application, config, spec.global_batch).iteration_s;
  };
  configs_ = ListConfigs(spec);
  requested_size_ = spec.requested_config.num_workers - ps_worker_.limits.min.num_workers;
  for (const PsWorkerConfig& config : configs_) {
    sizes_.push_back({config.num_gpus, config.num_cores(), ps_worker_.iteration_s(config)});
  }
}

std::optional<double> PsWorkerRun::SecondsAlone() const {
  return spec_->num_iterations * sizes_[requested_size_].iteration_s;
}

PsWorkerConfig PsWorkerRun::ConfigOf(const Allocation& allocation) const {
  if (allocation.config) return *allocation.config;
  const auto size = std::ranges::find(sizes_, allocation.resources(), &scheduling::JobSize::resources);
  FL_CHECK_MSG(size != sizes_.end(), "a policy grants what is no size of the job");
  return configs_[static_cast<size_t>(size - sizes_.begin())];
}

void PsWorkerRun::Place(const Allocation& allocation) {
  ps_worker_.config = ConfigOf(allocation);
  iteration_ = SimulateIteration(*spec_->ps_application, ps_worker_.config, spec_->global_batch);
}

std::optional<prediction::SpeedObservation> PsWorkerRun::ObserveServers() const {
  const PsWorkerConfig& config = ps_worker_.config;
  if (config.num_gpus != 0 && config.num_gpus != config.num_workers) return std::nullopt;
  return prediction::SpeedObservation{ConfigurationOf(config, spec_->global_batch), Seconds(iteration_.iteration_s)};
}

double PsWorkerRun::Train(double seconds) {
  const double needed = RemainingIterations() * iteration_.iteration_s;
  if (needed <= seconds) {
    done_ = spec_->num_iterations;
    return needed;
  }
  done_ += seconds / iteration_.iteration_s;
  return seconds;
}

}  // namespace fairlead::sim
