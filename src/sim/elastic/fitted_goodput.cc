#include "sim/elastic/fitted_goodput.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/elastic/batch_choice.h"

namespace fairlead::sim {
namespace {

constexpr int kNumBatches = 50;
constexpr double kExplained = 0.01;  // a model this close to an observation is kept
constexpr double kRoundingUp = 1e-8;

using prediction::ReplicaConfiguration;
using prediction::ReplicaObservation;
using prediction::ReplicaSpeedModel;

double CeilAbove(double value) { return std::ceil(value - kRoundingUp); }

bool Explains(const ReplicaSpeedModel& model, const ReplicaObservation& seen) {
  ReplicaConfiguration once = seen.configuration;
  once.accumulations = 0;
  return std::abs(model.IterationTime(once) / seen.iteration_time - 1) < kExplained &&
         std::abs(model.ComputeTime(once) / seen.compute_time - 1) < kExplained;
}

}  // namespace

std::vector<FittedType> FittedTypesOf(const ElasticJobSpec& spec, const ElasticCluster& cluster) {
  std::vector<FittedType> types;
  for (uint32_t t = 0; t < cluster.num_types(); ++t) {
    const NodeGroup& group = cluster.groups[t];
    types.push_back({spec.ProfileOn(t), group.gpus_per_node, group.num_gpus()});
  }
  if (spec.fitted != GoodputModels::kBlind) return types;
  const auto smallest = std::ranges::min_element(types, {}, &FittedType::gpus_per_node);
  return {{spec.profile, smallest->gpus_per_node, cluster.num_gpus()}};
}

bool FittedGoodput::Observe(uint32_t gpu_type, const ReplicaObservation& observation, const GradientStats& gradients) {
  const bool is_new_noise = gradients.sqr != gradients_.sqr || gradients.var != gradients_.var;
  gradients_ = gradients;
  TypeModel& type = models_[gpu_type];
  const ReplicaConfiguration& c = observation.configuration;
  if (!type.known.emplace(c.nodes, c.replicas, c.local_batch).second) return is_new_noise;
  type.observations.push_back(observation);
  if (type.model && Explains(*type.model, observation)) return is_new_noise;
  auto fitted = prediction::FitReplicaSpeedModel(type.observations, prediction::FitAssumptions::kPollux);
  if (fitted.ok()) type.model = *fitted;
  return true;
}

std::optional<FittedChoice> ChooseByModel(const ReplicaSpeedModel& model, const GradientStats& gradients,
                                          const BatchLimits& limits, uint32_t num_nodes, uint32_t num_gpus) {
  const double k = num_gpus;
  const double least = std::max<double>(limits.first, limits.local_min * k);
  const double most = limits.max;
  std::optional<FittedChoice> best;
  const double ratio = least <= most ? std::pow(most / least, 1 / (kNumBatches - 1.0)) : 0;
  double batch = least;
  for (int i = 0; i < kNumBatches && least <= most; ++i, batch *= ratio) {
    const double local = std::min(batch, most) / k;
    double passes = std::max(CeilAbove(local / limits.local_max), 1.0);
    if (num_gpus == 1 && local > limits.first + kRoundingUp) passes = std::max(passes, 2.0);
    const double pass_batch = CeilAbove(local / passes);
    if (pass_batch < limits.local_min || pass_batch > limits.local_max) continue;
    const double iteration_s = model.IterationTime({k, static_cast<double>(num_nodes), pass_batch, passes - 1}).value();
    const double goodput = GainOf(gradients, k * pass_batch * passes / limits.first) / iteration_s;
    if (best && goodput <= best->goodput) continue;
    const auto num_passes = static_cast<uint32_t>(passes);
    best = FittedChoice{
        {std::min(static_cast<uint32_t>(pass_batch), limits.max / (num_gpus * num_passes)), num_passes - 1}, goodput};
  }
  return best;
}

std::optional<FittedChoice> FittedGoodput::Best(uint32_t gpu_type, uint32_t num_nodes, uint32_t num_gpus,
                                                const BatchLimits& limits) const {
  if (!models_[gpu_type].model) return std::nullopt;
  return ChooseByModel(*models_[gpu_type].model, gradients_, limits, num_nodes, num_gpus);
}

double FittedGoodput::OwnGoodput(uint32_t model_type, uint32_t num_gpus) const {
  const FittedType& type = types_[model_type];
  const auto nodes = static_cast<uint32_t>(DensePlacement(num_gpus, type.gpus_per_node).size());
  const auto best = Best(model_type, nodes, num_gpus, type.profile->limits());
  return best ? best->goodput : 0;
}

double FittedGoodput::GoodputOn(uint32_t gpu_type, uint32_t num_gpus) const {
  const FittedType& type = types_[gpu_type];
  if (type.profile == nullptr || num_gpus > type.num_gpus) return 0;
  if (has_model(gpu_type)) return OwnGoodput(gpu_type, num_gpus);
  for (uint32_t other = 0; other < types_.size(); ++other) {
    const double rate = has_model(other) ? types_[other].profile->single_gpu_rate() : 0;
    if (rate > 0) return OwnGoodput(other, num_gpus) * type.profile->single_gpu_rate() / rate;
  }
  return 0;
}

}  // namespace fairlead::sim
