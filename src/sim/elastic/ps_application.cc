#include "sim/elastic/ps_application.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace fairlead::sim {
namespace {

using prediction::CpuEfficiency;
using prediction::SpeedModel;
using prediction::SpeedTerm;
using scheduling::PsWorkerConfig;

double SlowDown(const std::optional<CpuEfficiency>& curve, double cores) { return curve ? curve->SlowDown(cores) : 1; }

// Effective cores: the speed of the cores in units of one core.
double BusyCores(const std::optional<CpuEfficiency>& curve, double cores) {
  return curve ? std::min(cores, 1 / curve->SlowDown(cores)) : cores;
}

// Forward and backward: per sample, and whatever the batch.
struct WorkerSpeed {
  double sample_s = 0;
  double fixed_s = 0;
};

// Seconds until all workers are through with their part of the batch.
double ComputeSeconds(const WorkerSpeed& cpu, double num_cpu, const WorkerSpeed& gpu, double num_gpu, double batch) {
  if (num_gpu == 0) return cpu.sample_s * batch / num_cpu + cpu.fixed_s;
  const double on_gpus_s = gpu.sample_s * batch / num_gpu + gpu.fixed_s;
  // A worker that takes no time for a sample takes them all.
  if (num_cpu == 0 || gpu.sample_s <= 0 || cpu.sample_s <= 0) return on_gpus_s;
  const double rate = num_cpu / cpu.sample_s + num_gpu / gpu.sample_s;
  const double ahead = num_cpu * cpu.fixed_s / cpu.sample_s + num_gpu * gpu.fixed_s / gpu.sample_s;
  const double together_s = (batch + ahead) / rate;
  return together_s > cpu.fixed_s ? together_s : on_gpus_s;
}

// Of one GPU in an iteration.
struct GpuWork {
  double samples = 0;
  double busy_s = 0;
};

// Args: fed: its speed with what its cores prepare; compute_s: that all workers take.
GpuWork WorkOf(const WorkerSpeed& alone, const WorkerSpeed& fed, double compute_s) {
  if (fed.sample_s <= 0) return {0, compute_s};
  const double samples = std::max(0.0, compute_s - fed.fixed_s) / fed.sample_s;
  return {samples, compute_s - samples * (fed.sample_s - alone.sample_s)};
}

}  // namespace

prediction::ServerConfiguration ConfigurationOf(const PsWorkerConfig& config, double global_batch) {
  return {.workers = static_cast<double>(config.num_workers),
          .servers = static_cast<double>(config.num_ps),
          .global_batch = global_batch,
          .gpus = static_cast<double>(config.num_gpus),
          .worker_cores = static_cast<double>(config.cores_per_worker),
          .server_cores = static_cast<double>(config.cores_per_ps)};
}

PsIteration SimulateIteration(const PsApplication& application, const PsWorkerConfig& config, double global_batch) {
  const double workers = config.num_workers;
  const double servers = config.num_ps;
  const double gpus = config.num_gpus;
  const SpeedModel& model = config.num_gpus > 0 ? application.gpu_workers : application.cpu_workers;
  const auto& worker_curve = application.cpu_workers.options.worker_efficiency;
  const double worker_slow = SlowDown(worker_curve, config.cores_per_worker);
  const auto speed_of = [](const SpeedModel& of, double slow) {
    return WorkerSpeed{slow * of.coefficient(SpeedTerm::kSampleCompute),
                       slow * of.coefficient(SpeedTerm::kFixedCompute)};
  };
  const WorkerSpeed gpu = speed_of(application.gpu_workers, 1);
  const WorkerSpeed fed_gpu = {std::max(gpu.sample_s, application.prepare_core_s / config.cores_per_worker),
                               gpu.fixed_s};
  const double compute_s =
      ComputeSeconds(speed_of(application.cpu_workers, worker_slow), workers - gpus, fed_gpu, gpus, global_batch);
  const auto& server_curve = model.options.server_efficiency;
  const double update_s = model.coefficient(SpeedTerm::kUpdate) * SlowDown(server_curve, config.cores_per_ps) *
                          (model.options.update_shared_by_servers ? workers / servers : 1);
  PsIteration iteration;
  iteration.iteration_s = compute_s + update_s + model.coefficient(SpeedTerm::kTransfer) * workers / servers +
                          model.coefficient(SpeedTerm::kWorkerOverhead) * workers +
                          model.coefficient(SpeedTerm::kServerOverhead) * servers +
                          model.coefficient(SpeedTerm::kGpuAggregation) * gpus;
  const double computing = compute_s / iteration.iteration_s;
  const double updating = update_s / iteration.iteration_s;
  const GpuWork work = WorkOf(gpu, fed_gpu, compute_s);
  const double preparing = application.prepare_core_s * work.samples / iteration.iteration_s;
  iteration.busy.gpus = gpus * work.busy_s / iteration.iteration_s;
  iteration.busy.cores = (workers - gpus) * BusyCores(worker_curve, config.cores_per_worker) * computing +
                         gpus * std::min<double>(config.cores_per_worker, computing + preparing) +
                         servers * BusyCores(server_curve, config.cores_per_ps) * updating;
  return iteration;
}

Status PsApplication::Validate() const {
  const PsWorkerConfig& least = limits.min;
  if (least.num_ps == 0 || least.num_workers == 0 || least.cores_per_ps == 0 || least.cores_per_worker == 0 ||
      least.num_gpus > least.num_workers || limits.max_gpus_per_worker > 1) {
    return InvalidArgument(fmt::format(
        "application {}: the smallest configuration has {} servers, {} workers, {} GPUs; expected one or more servers "
        "and workers with one or more cores, and at most one GPU for each worker",
        name, least.num_ps, least.num_workers, least.num_gpus));
  }
  const double iteration_s = SimulateIteration(*this, least, 1).iteration_s;
  if (std::isfinite(iteration_s) && iteration_s > 0 && restart_s >= 0 && prepare_core_s >= 0) return OkStatus();
  return InvalidArgument(
      fmt::format("application {}: an iteration takes {} s; expected a positive time, and a restart and preparation of "
                  "samples that cost 0 s or more",
                  name, iteration_s));
}

}  // namespace fairlead::sim
