#include "collective/iteration_traffic.h"

namespace fairlead::collective {
namespace {

void AddTransformerTraffic(const ModelProfile& profile, const Transformer& t, const model::Parallelism& parallelism,
                           IterationTraffic& traffic) {
  const Bytes hidden_states = HiddenStateBytes(profile) * parallelism.micro_batches;
  if (parallelism.tensor > 1) {
    const double blocks = 2.0 * t.layers + t.cross_attention_layers;
    traffic.num_tensor_all_reduces = parallelism.micro_batches * (2 * blocks / parallelism.pipeline);
    traffic.tensor_all_reduce = hidden_states * (2 * blocks / parallelism.pipeline);
  }
  if (parallelism.pipeline > 1) {
    traffic.num_pipeline_messages = parallelism.micro_batches;
    traffic.pipeline_message = hidden_states / parallelism.tensor;
  }
  if (parallelism.expert > 1) {
    const double expert_layers = static_cast<double>(t.layers) / t.expert_interval / parallelism.pipeline;
    traffic.num_expert_all_to_alls = parallelism.micro_batches * 4 * expert_layers;
    traffic.expert_all_to_all = hidden_states * (4 * expert_layers * t.active_experts / parallelism.tensor);
  }
}

void AddRecommenderTraffic(const ModelProfile& profile, const Recommender& r, const model::Parallelism& parallelism,
                           IterationTraffic& traffic) {
  const double samples = static_cast<double>(profile.samples_per_micro_batch) * parallelism.micro_batches;
  const double elements = static_cast<double>(r.embedding_features) * r.embedding_dimension;
  traffic.num_embedding_all_to_alls = 2.0 * parallelism.micro_batches;
  traffic.embedding_all_to_all = Bytes(2 * samples * elements * profile.element_bytes);
}

}  // namespace

IterationTraffic ComputeIterationTraffic(const ModelProfile& profile, const model::Parallelism& parallelism) {
  IterationTraffic traffic;
  const double model_shards = static_cast<double>(parallelism.tensor) * parallelism.pipeline;
  const double dense = DenseParameters(profile) / model_shards;
  const double experts = ExpertParameters(profile) / (model_shards * parallelism.expert);
  traffic.dense_gradients = Bytes(dense * profile.gradient_bytes);
  traffic.dense_parameters = Bytes(dense * profile.element_bytes);
  traffic.expert_gradients = Bytes(experts * profile.gradient_bytes);
  traffic.expert_parameters = Bytes(experts * profile.element_bytes);
  if (const auto* t = std::get_if<Transformer>(&profile.architecture)) {
    AddTransformerTraffic(profile, *t, parallelism, traffic);
  } else if (const auto* r = std::get_if<Recommender>(&profile.architecture)) {
    AddRecommenderTraffic(profile, *r, parallelism, traffic);
  }
  return traffic;
}

}  // namespace fairlead::collective
