#include "sim/elastic/learned_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "prediction/convergence_model.h"
#include "prediction/feature_selection.h"
#include "prediction/job_table.h"
#include "sim/elastic/epoch_run.h"
#include "sim/elastic/ps_worker_run.h"
#include "sim/elastic/workload_draws.h"

namespace fairlead::sim {
namespace {

using prediction::ReplicaConfiguration;
using prediction::ReplicaObservation;

constexpr uint64_t kLogSeed = 0x6c6f67;
constexpr size_t kTrainingStride = 4;
constexpr size_t kFewestEpochs = 5;  // that the convergence model takes

Result<prediction::PredictabilityModel> TrainClassifier(const LearnedOptions& options) {
  prediction::JobGeneratorOptions past;
  past.seed = options.seed;
  past.num_jobs = options.num_training_jobs;
  const prediction::JobTable table = prediction::ToJobTable(prediction::GenerateJobs(past));
  const prediction::FeatureTable rows = prediction::MakeTrainingTable(table, kTrainingStride);
  if (rows.num_rows() == 0) {
    return InvalidArgument(fmt::format("learned models: {} finished jobs teach nothing; expected more of them",
                                       options.num_training_jobs));
  }
  const prediction::FeatureSelection selection = prediction::SelectFeatures(rows, options.seed);
  return prediction::PredictabilityModel::Train(rows, prediction::LearnerKind::kRandomForest, selection, options.seed);
}

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

LearnedModels::LearnedModels(std::optional<prediction::PredictabilityModel> classifier, const ElasticCluster& cluster,
                             const LearnedOptions& options)
    : classifier_(std::move(classifier)),
      cluster_(cluster),
      options_(options),
      noise_(options.seed),
      ps_speeds_(options.fewest_ps_configurations) {}

Result<LearnedModels> LearnedModels::Create(const std::vector<ElasticJobSpec>& workload, const ElasticCluster& cluster,
                                            const LearnedOptions& options) {
  if (options.fewest_ps_configurations == 0) {
    return InvalidArgument("learned models: speeds are used after 0 measured configurations; expected 1 or more");
  }
  if (options.lengths == LengthSource::kOwnSteps) {
    LearnedModels models(std::nullopt, cluster, options);
    FL_ASSIGN_OR_RETURN(models.own_, OwnMeasurements::Create(workload, cluster));
    return models;
  }
  if (options.lengths != LengthSource::kCurves) {
    LearnedModels models(std::nullopt, cluster, options);
    models.lengths_.emplace(options.lengths == LengthSource::kDeclared, true);
    for (const ElasticJobSpec& spec : workload) {
      JobKnowledge job;
      job.spec = &spec;
      models.jobs_.push_back(std::move(job));
    }
    return models;
  }
  FL_ASSIGN_OR_RETURN(auto classifier, TrainClassifier(options));
  LearnedModels models(std::move(classifier), cluster, options);
  prediction::JobGeneratorOptions logs;
  logs.seed = CombineHash(options.seed, kLogSeed);
  logs.num_jobs = workload.size();
  std::vector<prediction::GeneratedJob> drawn = prediction::GenerateJobs(logs);
  for (size_t j = 0; j < workload.size(); ++j) {
    JobKnowledge job;
    job.spec = &workload[j];
    job.log = std::move(drawn[j]);
    // A log that never reaches its target ends with its last epoch.
    job.log_end = std::isfinite(job.log.true_end) ? job.log.true_end : job.log.record.epochs.back().iteration;
    models.jobs_.push_back(std::move(job));
  }
  return models;
}

void LearnedModels::Observe(uint32_t j, const ElasticJob& job, double now_s, double trained_s) {
  if (own_) {
    if (!job.is_finished()) own_->Observe(j, job, trained_s, DrawNoise());
    return;
  }
  if (!job.is_finished()) Measure(job);
  if (lengths_) {
    // Times are asked for only where they are needed: they may cost a fit.
    lengths_->Observe(job, job.is_finished() ? RequestedSeconds(j, job) : 0);
    return;
  }
  if (job.is_finished()) return;
  if (jobs_[j].spec->predictable_after) Evaluate(&jobs_[j], job, now_s);
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

void LearnedModels::Evaluate(JobKnowledge* job, const ElasticJob& running, double now_s) {
  const double log_now = running.run().done_share() * job->log_end;
  const std::vector<prediction::EpochReport>& epochs = job->log.record.epochs;
  const auto seen = static_cast<size_t>(
      std::ranges::upper_bound(epochs, log_now, {}, &prediction::EpochReport::iteration) - epochs.begin());
  // In between two evaluations the last prediction counts down.
  if (job->predicted_end > 0 && job->log_end > 0) {
    const double total = running.run().RemainingIterations() / std::max(1e-9, 1 - running.run().done_share());
    job->remaining_iterations = std::max(1.0, (job->predicted_end - log_now) / job->log_end * total);
  }
  if (seen < kFewestEpochs || seen == job->num_seen) return;
  if (!prediction::IsEvaluationDue(job->state, Seconds(now_s))) return;
  job->num_seen = seen;
  const auto visible = std::span(epochs).first(seen);
  const double score = classifier_->Score(prediction::ComputeFeatures(job->log.record.description, visible));
  job->state = prediction::AfterScore(job->state, Seconds(now_s), score);
  prediction::ConvergenceOptions options;
  options.num_bootstraps = 0;
  options.declared_drops = job->log.record.description.rate_drops;
  const prediction::ConvergenceFit fit = prediction::FitConvergence(prediction::LossCurve(visible), options);
  if (!fit.usable()) return;
  const double left =
      prediction::PredictRemaining(fit, job->log.record.description.target_loss, visible.back().iteration).expected;
  if (!std::isfinite(left)) return;
  const double end = visible.back().iteration + left;
  if (job->state.is_predictable && job->predicted_end > 0) {
    job->state = prediction::AfterError(job->state, std::abs(end - job->predicted_end) / std::max(left, 1.0));
  }
  job->predicted_end = end;
  const double total = running.run().RemainingIterations() / std::max(1e-9, 1 - running.run().done_share());
  job->remaining_iterations = std::max(1.0, (end - log_now) / job->log_end * total);
}

std::optional<double> LearnedModels::RemainingIterations(uint32_t j, const ElasticJob& job) const {
  if (own_) return own_->Remaining(j, job);
  if (lengths_) return lengths_->Remaining(job, RequestedSeconds(j, job));
  const JobKnowledge& known = jobs_[j];
  const bool is_predictable = known.state.is_predictable && known.state.num_withdrawn == 0 && known.predicted_end > 0;
  return is_predictable ? std::optional(known.remaining_iterations) : std::nullopt;
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

uint32_t LearnedModels::num_flips() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(jobs_, [](const JobKnowledge& job) { return job.state.is_predictable; }));
}

uint32_t LearnedModels::num_withdrawn() const {
  return static_cast<uint32_t>(
      std::ranges::count_if(jobs_, [](const JobKnowledge& job) { return job.state.num_withdrawn > 0; }));
}

}  // namespace fairlead::sim
