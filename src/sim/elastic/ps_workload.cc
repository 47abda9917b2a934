#include "sim/elastic/ps_workload.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "base/random.h"
#include "sim/elastic/generated_workload.h"
#include "sim/elastic/workload_draws.h"

namespace fairlead::sim {
namespace {

using prediction::CpuEfficiency;
using prediction::SpeedModel;
using prediction::SpeedTerm;

struct PsKind {
  std::string_view name;
  double batch;
  double core_sample_s;  // forward and backward of a sample on one core
  double gpu_ratio;      // a GPU is this much faster
  double transfer_s;     // push and pull, per worker and server
  double update_s;       // likewise, on one core of a server
  CpuEfficiency worker_curve;
  double frequency;  // share of jobs
  double asks_gpu;   // share of its jobs with requests for GPUs
  double restart_s;
  double prepare_core_s;  // of a sample for a GPU, on a core
};

constexpr PsKind kPsKinds[] = {
    {"conv-large", 128, 0.6, 60, 0.25, 0.2, {8, 0.25, 8}, 0.2, 0.95, 50, 0.01},
    {"conv-medium", 128, 0.12, 30, 0.3, 0.25, {8, 0.25, 8}, 0.25, 0.9, 40, 0.01},
    {"conv-small", 128, 0.02, 12, 0.05, 0.06, {6, 0.35, 6.2}, 0.2, 0.8, 20, 0.01},
    {"recurrent", 64, 0.05, 8, 0.1, 0.12, {6, 0.35, 6.2}, 0.15, 0.7, 30, 0.0003},
    {"recommender", 512, 0.002, 3, 0.15, 0.3, {10, 0.15, 10}, 0.12, 0.5, 30, 0.001},
    {"linear", 512, 0.0008, 1.5, 0.06, 0.15, {10, 0.15, 10}, 0.08, 0.3, 10, 0.001},
};
constexpr CpuEfficiency kServerCurve = {3, 0.5, 3};
constexpr uint32_t kPodCores = 5;
// Where owners decide about cores.
constexpr uint32_t kMostWorkerCores = 5;
constexpr uint32_t kMostServerCores = 3;
constexpr double kFixedShare = 0.05;     // of a batch's computing, whatever its size
constexpr double kOverheadShare = 0.02;  // of the transfer, for each worker; half of it for each server

void SetTerms(const PsKind& kind, double sample_s, SpeedModel* model) {
  const auto set = [&](SpeedTerm term, double value) {
    model->coefficients[static_cast<size_t>(term)] = value;
    model->is_identifiable[static_cast<size_t>(term)] = true;
  };
  set(SpeedTerm::kSampleCompute, sample_s);
  set(SpeedTerm::kFixedCompute, kFixedShare * sample_s * kind.batch);
  set(SpeedTerm::kTransfer, kind.transfer_s);
  set(SpeedTerm::kUpdate, kind.update_s);
  set(SpeedTerm::kWorkerOverhead, kOverheadShare * kind.transfer_s);
  set(SpeedTerm::kServerOverhead, kOverheadShare / 2 * kind.transfer_s);
  set(SpeedTerm::kGpuAggregation, kOverheadShare * kind.transfer_s);
  model->options.server_efficiency = kServerCurve;
}

scheduling::PsWorkerConfig DrawRequest(const PsKind& kind, bool has_input_pipeline, Random* random) {
  scheduling::PsWorkerConfig config;
  config.num_workers = 1 + static_cast<uint32_t>(random->Below(4));
  config.num_ps = 1 + static_cast<uint32_t>(random->Below(4));
  config.cores_per_worker = kPodCores;
  config.cores_per_ps = kPodCores;
  if (random->Uniform() < kind.asks_gpu) config.num_gpus = config.num_workers;
  if (!has_input_pipeline) return config;
  config.cores_per_worker = 1 + static_cast<uint32_t>(random->Below(kMostWorkerCores));
  config.cores_per_ps = 1 + static_cast<uint32_t>(random->Below(kMostServerCores));
  return config;
}

}  // namespace

PsApplicationSet GeneratePsApplications(uint64_t seed, bool has_input_pipeline) {
  PsApplicationSet applications;
  Random random(seed);
  for (PsKind kind : kPsKinds) {
    for (double* constant : {&kind.core_sample_s, &kind.gpu_ratio, &kind.transfer_s, &kind.update_s}) {
      *constant *= random.Uniform(0.8, 1.2);
    }
    PsApplication application;
    application.name = kind.name;
    application.restart_s = kind.restart_s;
    if (has_input_pipeline) application.prepare_core_s = kind.prepare_core_s;
    SetTerms(kind, kind.core_sample_s, &application.cpu_workers);
    application.cpu_workers.options.worker_efficiency = kind.worker_curve;
    SetTerms(kind, kind.core_sample_s / kind.gpu_ratio, &application.gpu_workers);
    applications.emplace(kind.name, std::move(application));
  }
  return applications;
}

Status PsWorkloadOptions::Validate() const {
  if (num_jobs > 0 && arrivals_s > 0 && median_run_s > 0 && run_sigma >= 0 && predictable_share >= 0 &&
      predictable_share <= 1) {
    return OkStatus();
  }
  return InvalidArgument(fmt::format(
      "generated workload: {} jobs within {} s that run for {} s, {} of them predictable; expected jobs, time, and a "
      "share of 0 to 1",
      num_jobs, arrivals_s, median_run_s, predictable_share));
}

Result<std::vector<ElasticJobSpec>> GeneratePsWorkload(const PsApplicationSet& applications,
                                                       const PsWorkloadOptions& options) {
  FL_RETURN_IF_ERROR(options.Validate());
  Random random(options.seed);
  std::vector<ElasticJobSpec> jobs;
  for (const double arrival : DrawArrivals(options.num_jobs, options.arrivals_s, &random)) {
    const PsKind& kind = DrawKind(kPsKinds, &random);
    const auto application = applications.find(std::string(kind.name));
    if (application == applications.end()) {
      return InvalidArgument(
          fmt::format("generated workload: no application '{}'; pass GeneratePsApplications()", kind.name));
    }
    ElasticJobSpec job;
    job.name = fmt::format("{}-{}", kind.name, jobs.size());
    job.submission_s = std::floor(arrival);
    job.ps_application = &application->second;
    job.requested_config = DrawRequest(kind, options.has_input_pipeline, &random);
    job.global_batch = static_cast<uint32_t>(kind.batch);
    const double asked_s = SimulateIteration(application->second, job.requested_config, kind.batch).iteration_s;
    const double run_s = options.median_run_s * std::exp(DrawNormal(options.run_sigma, &random));
    job.num_iterations = std::ceil(run_s / asked_s);
    if (!options.predictable_at_once) job.predictable_after = random.Uniform(0.09, 0.89);
    jobs.push_back(std::move(job));
  }
  DrawUnpredictable(options.predictable_share, options.seed, &jobs);
  return jobs;
}

}  // namespace fairlead::sim
