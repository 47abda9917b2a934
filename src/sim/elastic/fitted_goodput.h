// How fast a job would train elsewhere, as it has learned while it trained: a model of its speed for each type of GPU,
// and the gradient noise that it saw last.
//
// Notation    M, M0 -> global and first batch; k, n -> GPUs, nodes; m, s -> local batch, accumulations; T -> the model
//             of prediction/allreduce_speed_model.h; gain -> GainOf() of batch_choice.h.
// Method      goodput(n, k) = the largest gain(M) / T over 50 M in equal ratios from max(M0, local_min k) to the
//             largest; m = M / k / (s + 1), as few s as fit.  A model is fitted to what ran on its type.
//             A type without one: the goodput of the first type that has one, at the same k, times the ratio of the
//             types' rates of one GPU.
// Cost        an observation that the model does not explain: a fit; else O(1). GoodputOn: 50 evaluations.
// Differs     the published code fits anew at each new (n, k, m); ours only where the model is more than 1 % off.
// Reference   Qiao et al., Pollux, OSDI 2021, section 3; Jayaram Subramanya et al., Sia, SOSP 2023, section 3.2.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "prediction/allreduce_speed_model.h"
#include "sim/elastic/application_profile.h"
#include "sim/elastic/elastic_workload.h"
#include "sim/elastic/training_run.h"

namespace fairlead::sim {

// The profile gives a job's limits and its rate of one GPU, which are declared; nothing else of it is looked at.
struct FittedType {
  const ApplicationProfile* profile = nullptr;  // null: the job can't run there
  uint32_t gpus_per_node = 0;
  uint32_t num_gpus = 0;  // of the cluster
};

// [gpu type]; one for all where the job is blind to types: nodes as small as the smallest, GPUs of all types together.
std::vector<FittedType> FittedTypesOf(const ElasticJobSpec& spec, const ElasticCluster& cluster);

struct FittedChoice {
  BatchSplit split;
  double goodput = 0;  // iterations at the first batch per second
};

// The best batch by a model; nothing where no batch fits. Cost: 50 evaluations.
std::optional<FittedChoice> ChooseByModel(const prediction::ReplicaSpeedModel& model, const GradientStats& gradients,
                                          const BatchLimits& limits, uint32_t num_nodes, uint32_t num_gpus);

class FittedGoodput {
 public:
  // Args: types: what FittedTypesOf() gives.
  explicit FittedGoodput(std::vector<FittedType> types) : types_(std::move(types)), models_(types_.size()) {}

  // What was seen on a type. Returns whether anything that is told below has changed.
  bool Observe(uint32_t gpu_type, const prediction::ReplicaObservation& observation, const GradientStats& gradients);

  bool has_model(uint32_t gpu_type) const { return models_[gpu_type].model.has_value(); }
  // The best batch for a placement of that many nodes; nothing without a model of the type, or where no batch fits.
  std::optional<FittedChoice> Best(uint32_t gpu_type, uint32_t num_nodes, uint32_t num_gpus,
                                   const BatchLimits& limits) const;
  // In the densest placement; 0 = unknown, or not possible.
  double GoodputOn(uint32_t gpu_type, uint32_t num_gpus) const;
  size_t num_types() const { return types_.size(); }

 private:
  struct TypeModel {
    std::set<std::tuple<double, double, double>> known;  // (n, k, m)
    std::vector<prediction::ReplicaObservation> observations;
    std::optional<prediction::ReplicaSpeedModel> model;
  };

  double OwnGoodput(uint32_t model_type, uint32_t num_gpus) const;

  std::vector<FittedType> types_;
  std::vector<TypeModel> models_;  // [types_]
  GradientStats gradients_;
};

}  // namespace fairlead::sim
