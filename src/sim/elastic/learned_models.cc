#include "sim/elastic/learned_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/elastic/epoch_run.h"
#include "sim/elastic/ps_worker_run.h"
#include "sim/elastic/workload_draws.h"

namespace fairlead::sim {
namespace {

using prediction::ReplicaConfiguration;
using prediction::ReplicaObservation;

ReplicaConfiguration ConfigurationOf(const BatchSplit& split, double replicas, double nodes) {
  return {replicas, nodes, static_cast<double>(split.local_batch), static_cast<double>(split.num_accumulations)};
}

// What tells configurations apart.
std::tuple<double, double, double, double> KeyOf(const ReplicaConfiguration& c) {
  return {c.replicas, c.nodes, c.local_batch, c.accumulations};
}

// By GPUs: how much longer an iteration took than the model says, at sizes that were measured.
using MeasuredRatios = std::vector<std::pair<uint32_t, double>>;

// Between two measured sizes in proportion to the logarithm of GPUs, beyond them that of the closest; 1 without any.
double RatioAt(const MeasuredRatios& ratios, uint32_t gpus) {
  if (ratios.empty()) return 1;
  const auto above = std::ranges::lower_bound(ratios, gpus, {}, &MeasuredRatios::value_type::first);
  if (above == ratios.end()) return ratios.back().second;
  if (above->first == gpus || above == ratios.begin()) return above->second;
  const auto below = std::prev(above);
  const double part =
      std::log(static_cast<double>(gpus) / below->first) / std::log(static_cast<double>(above->first) / below->first);
  return std::exp((1 - part) * std::log(below->second) + part * std::log(above->second));
}

}  // namespace

LearnedModels::LearnedModels(const ElasticCluster& cluster, const LearnedOptions& options)
    : cluster_(cluster), options_(options), noise_(options.seed), ps_speeds_(options.fewest_ps_configurations) {}

Result<LearnedModels> LearnedModels::Create(const std::vector<ElasticJobSpec>& workload, const ElasticCluster& cluster,
                                            const LearnedOptions& options) {
  if (options.fewest_ps_configurations == 0) {
    return InvalidArgument("learned models: speeds are used after 0 measured configurations; expected 1 or more");
  }
  LearnedModels models(cluster, options);
  if (options.lengths == LengthSource::kOwnSteps) {
    FL_ASSIGN_OR_RETURN(models.own_, OwnMeasurements::Create(workload, cluster));
    return models;
  }
  if (options.lengths != LengthSource::kCurves) {
    models.lengths_.emplace(options.lengths == LengthSource::kDeclared, true);
  }
  if (options.lengths == LengthSource::kCurves || options.has_loss_curves) {
    FL_ASSIGN_OR_RETURN(auto curves, LossForecasts::Create(workload, options.seed, options.num_training_jobs));
    models.curves_ = std::move(curves);
  }
  for (const ElasticJobSpec& spec : workload) models.jobs_.emplace_back().spec = &spec;
  return models;
}

void LearnedModels::Observe(uint32_t j, const ElasticJob& job, double now_s, double trained_s) {
  if (own_) {
    if (!job.is_finished()) own_->Observe(j, job, trained_s, DrawNoise());
    return;
  }
  if (!job.is_finished()) Measure(job);
  if (curves_ && (lengths_ || job.spec().predictable_after)) curves_->Observe(j, job, now_s);
  // Times are asked for only where they are needed: they may cost a fit.
  if (lengths_) lengths_->Observe(job, job.is_finished() ? RequestedSeconds(j, job) : 0);
}

void LearnedModels::Measure(const ElasticJob& job) {
  if (const auto replicas = job.run().ObserveReplicas()) MeasureReplicas(job, *replicas);
  if (const auto servers = job.run().ObserveServers()) MeasureServers(job, *servers);
}

void LearnedModels::MeasureServers(const ElasticJob& job, prediction::SpeedObservation observation) {
  const PsApplication& application = *job.spec().ps_application;
  if (ps_speeds_.IsMeasured(application.name, observation.configuration)) return;
  observation.iteration_time = Seconds(observation.iteration_time.value() * DrawNoise());
  ps_speeds_.Measure(application, observation);
}

double LearnedModels::DrawNoise() { return std::max(1 + DrawNormal(options_.speed_noise, &noise_), 0.5); }

void LearnedModels::MeasureReplicas(const ElasticJob& job, ReplicaObservation observation) {
  Speeds& speeds = speeds_[job.spec().profile->name()];
  const ReplicaConfiguration& c = observation.configuration;
  if (!speeds.known.emplace(KeyOf(c), speeds.observations.size()).second) return;
  const double noise = DrawNoise();
  observation.iteration_time = Seconds(observation.iteration_time.value() * noise);
  observation.compute_time = Seconds(observation.compute_time.value() * noise);
  speeds.observations.push_back(observation);
}

void LearnedModels::Speeds::Refit() {
  if (std::exchange(num_fitted, observations.size()) == observations.size()) return;
  // Never fails: what is observed has run.
  if (auto fitted = prediction::FitReplicaSpeedModel(observations); fitted.ok()) model = *fitted;
}

std::optional<double> LearnedModels::RemainingIterations(uint32_t j, const ElasticJob& job) const {
  if (own_) return own_->Remaining(j, job);
  const std::optional<CurveForecast> curve = curves_ ? curves_->Remaining(j) : std::nullopt;
  if (lengths_) return lengths_->Remaining(job, RequestedSeconds(j, job), curve);
  if (!curve || !jobs_[j].spec->predictable_after) return std::nullopt;
  return curve->iterations;
}

double LearnedModels::RequestedSeconds(uint32_t j, const ElasticJob& job) const {
  const auto& all = sizes(j);
  const uint32_t requested = job.run().requested_size();
  return requested < all.size() ? all[requested].iteration_s : 0;
}

void LearnedModels::RefreshSizes(JobKnowledge* job) const {
  const ApplicationProfile& profile = *job->spec->profile;
  const auto speeds = speeds_.find(profile.name());
  const size_t num_observations = speeds == speeds_.end() ? 0 : speeds->second.observations.size();
  if (!job->sizes.empty() && job->num_observations == num_observations) return;
  job->num_observations = num_observations;
  job->sizes.clear();
  if (num_observations > 0) speeds->second.Refit();
  MeasuredRatios ratios;
  for (const uint32_t k : RunnableGpus(*job->spec, cluster_)) {
    const BatchSplit split = SplitBatch(profile.limits(), k, job->spec->global_batch, SingleGpuRule::kLargeBatches);
    const auto nodes = static_cast<double>(DensePlacement(k, cluster_.groups.front().gpus_per_node).size());
    const ReplicaConfiguration configuration = ConfigurationOf(split, k, nodes);
    job->sizes.push_back({k, k * cluster_.cores_per_gpu, 0});
    if (num_observations == 0) continue;
    job->sizes.back().iteration_s = speeds->second.model.IterationTime(configuration).value();
    const auto measured = speeds->second.known.find(KeyOf(configuration));
    if (measured == speeds->second.known.end()) continue;
    const ReplicaObservation& observed = speeds->second.observations[measured->second];
    const double seconds =
        observed.iteration_time.value() + observed.configuration.accumulations * observed.compute_time.value();
    ratios.emplace_back(k, seconds / job->sizes.back().iteration_s);
  }
  for (scheduling::JobSize& size : job->sizes) size.iteration_s *= RatioAt(ratios, size.num_gpus);
}

// The requested configuration represents the job: it has the same workers as all the sizes that are listed.
void LearnedModels::RefreshPsSizes(JobKnowledge* job) const {
  const scheduling::PsWorkerJob described = ps_speeds_.Describe(*job->spec, job->spec->requested_config);
  job->sizes.clear();
  for (const scheduling::PsWorkerConfig& config : ListConfigs(*job->spec)) {
    job->sizes.push_back(
        {config.num_gpus, config.num_cores(), described.iteration_s ? described.iteration_s(config) : 0});
  }
}

const std::vector<scheduling::JobSize>& LearnedModels::sizes(uint32_t j) const {
  if (own_) return own_->sizes(j);
  JobKnowledge& job = jobs_[j];
  job.spec->ps_application != nullptr ? RefreshPsSizes(&job) : RefreshSizes(&job);
  return job.sizes;
}

const scheduling::PsWorkerJob* LearnedModels::ps_worker(uint32_t j, const ElasticJob& job) const {
  if (job.run().ps_worker() == nullptr) return nullptr;
  jobs_[j].ps_worker = ps_speeds_.Describe(job.spec(), job.run().ps_worker()->config);
  return &jobs_[j].ps_worker;
}

uint32_t LearnedModels::num_flips() const { return curves_ ? curves_->num_flips() : 0; }

uint32_t LearnedModels::num_withdrawn() const { return curves_ ? curves_->num_withdrawn() : 0; }

}  // namespace fairlead::sim
