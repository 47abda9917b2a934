#include "collective/model_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace fairlead::collective {
namespace {

double ExpertLayers(const Transformer& t) { return t.experts > 1 ? t.layers / t.expert_interval : 0; }

// Query and output are h x h; key and value shrink with the number of key-value heads.
double AttentionParameters(const Transformer& t) {
  const double h = t.hidden;
  return h * h * (2 + 2.0 * t.key_value_heads / t.heads);
}

double FfnParameters(const Transformer& t) { return (t.gated_ffn ? 3.0 : 2.0) * t.hidden * t.ffn_hidden; }

double AttentionBlocks(const Transformer& t) { return static_cast<double>(t.layers) + t.cross_attention_layers; }

double TokenTable(const Transformer& t) { return static_cast<double>(t.vocabulary) * t.hidden; }

// What a token is multiplied with, without the experts: all but the tables that are only looked up. The output
// projection is a multiplication whether or not it shares the input table.
double DenseMatrices(const Transformer& t) {
  return AttentionBlocks(t) * AttentionParameters(t) + (t.layers - ExpertLayers(t)) * FfnParameters(t) + TokenTable(t);
}

double DenseParametersOf(const Transformer& t) {
  const double input_table = t.tied_embeddings ? 0 : TokenTable(t);
  return DenseMatrices(t) + input_table + static_cast<double>(t.position_table) * t.hidden;
}
double DenseParametersOf(const Convolution& c) { return c.parameters; }
double DenseParametersOf(const Recommender& r) { return r.dense_parameters; }

double ForwardFlopPerSample(const Transformer& t) {
  const double active = DenseMatrices(t) + ExpertLayers(t) * t.active_experts * FfnParameters(t);
  // Scores and weighted values: two s x s x h products for each block, 4 h s FLOP a token.
  const double attention = 4 * AttentionBlocks(t) * t.hidden * t.sequence_length;
  return (2 * active + attention) * t.sequence_length;
}
double ForwardFlopPerSample(const Convolution& c) { return 2 * c.forward_multiply_adds; }
double ForwardFlopPerSample(const Recommender& r) { return 2 * r.dense_parameters; }

Status Invalid(const ModelProfile& profile, std::string_view problem) {
  return InvalidArgument(fmt::format("model profile '{}': {}", profile.name, problem));
}

Status ValidateTransformer(const ModelProfile& profile, const Transformer& t) {
  if (t.layers == 0 || t.hidden == 0 || t.heads == 0 || t.sequence_length == 0 || t.vocabulary == 0) {
    return Invalid(profile, "layers, hidden, heads, vocabulary and sequence_length must be at least 1");
  }
  if (t.cross_attention_layers > t.layers) return Invalid(profile, "more cross_attention_layers than layers");
  if (t.hidden % t.heads != 0) {
    return Invalid(profile, fmt::format("hidden {} is no multiple of heads {}", t.hidden, t.heads));
  }
  if (t.key_value_heads == 0 || t.heads % t.key_value_heads != 0) {
    return Invalid(profile, fmt::format("heads {} is no multiple of key_value_heads {}", t.heads, t.key_value_heads));
  }
  if (t.active_experts == 0 || t.active_experts > t.experts) {
    return Invalid(profile, fmt::format("active_experts {} is not in [1, experts = {}]", t.active_experts, t.experts));
  }
  if (t.expert_interval == 0 || t.layers % t.expert_interval != 0) {
    return Invalid(profile, fmt::format("layers {} is no multiple of expert_interval {}", t.layers, t.expert_interval));
  }
  return OkStatus();
}

// Splitting a model needs something to split.
Status ValidateRow(const ModelProfile& profile, const ParallelismDefault& row) {
  const auto* t = std::get_if<Transformer>(&profile.architecture);
  const std::string where = fmt::format("parallelism from {} GPUs: ", row.min_gpus);
  if (row.min_gpus == 0 || row.tensor == 0 || row.pipeline == 0 || row.expert == 0 || row.micro_batches == 0) {
    return Invalid(profile, where + "every number but zero_stage must be at least 1");
  }
  if (row.zero_stage > 3) return Invalid(profile, where + "zero_stage is not in [0, 3]");
  if (t == nullptr && (row.tensor > 1 || row.pipeline > 1 || row.expert > 1)) {
    return Invalid(profile, where + "only transformers can have tensor, pipeline or expert parallelism");
  }
  if (t != nullptr && t->layers % row.pipeline != 0) return Invalid(profile, where + "pipeline does not divide layers");
  if (t != nullptr && t->heads % row.tensor != 0) return Invalid(profile, where + "tensor does not divide heads");
  if (t != nullptr && t->experts % row.expert != 0) return Invalid(profile, where + "expert does not divide experts");
  return OkStatus();
}

}  // namespace

uint32_t TokensPerSample(const ModelProfile& profile) {
  const auto* t = std::get_if<Transformer>(&profile.architecture);
  return t == nullptr ? 1 : t->sequence_length;
}

double DenseParameters(const ModelProfile& profile) {
  return std::visit([](const auto& a) { return DenseParametersOf(a); }, profile.architecture);
}

std::optional<Bytes> KvBytesPerToken(const ModelProfile& profile) {
  const auto* t = std::get_if<Transformer>(&profile.architecture);
  if (t == nullptr) return std::nullopt;
  const double head = static_cast<double>(t->hidden) / t->heads;
  return Bytes(2.0 * t->layers * t->key_value_heads * head * profile.element_bytes);
}

double ExpertParameters(const ModelProfile& profile) {
  const auto* t = std::get_if<Transformer>(&profile.architecture);
  return t == nullptr ? 0 : ExpertLayers(*t) * t->experts * FfnParameters(*t);
}

double ActiveParameters(const ModelProfile& profile) {
  const auto* t = std::get_if<Transformer>(&profile.architecture);
  const double experts = t == nullptr ? 0 : ExpertLayers(*t) * t->active_experts * FfnParameters(*t);
  return DenseParameters(profile) + experts;
}

Flop TrainingFlopPerSample(const ModelProfile& profile) {
  return Flop(3 * std::visit([](const auto& a) { return ForwardFlopPerSample(a); }, profile.architecture));
}

Bytes HiddenStateBytes(const ModelProfile& profile) {
  const auto* t = std::get_if<Transformer>(&profile.architecture);
  if (t == nullptr) return Bytes(0);
  return Bytes(static_cast<double>(t->hidden) * t->sequence_length * profile.samples_per_micro_batch *
               profile.element_bytes);
}

Status ValidateModelProfile(const ModelProfile& profile) {
  if (profile.name.empty()) return InvalidArgument("model profile without a name");
  if (!(profile.efficiency > 0 && profile.efficiency <= 1)) return Invalid(profile, "efficiency is not in (0, 1]");
  if (!(profile.overlap_start >= 0 && profile.overlap_start <= 1)) {
    return Invalid(profile, "overlap_start is not in [0, 1]");
  }
  if (profile.samples_per_micro_batch == 0) return Invalid(profile, "samples_per_micro_batch must be at least 1");
  if (const auto* t = std::get_if<Transformer>(&profile.architecture)) {
    FL_RETURN_IF_ERROR(ValidateTransformer(profile, *t));
  }
  uint32_t last_min_gpus = 0;
  for (const ParallelismDefault& row : profile.parallelism) {
    FL_RETURN_IF_ERROR(ValidateRow(profile, row));
    if (row.min_gpus <= last_min_gpus) return Invalid(profile, "parallelism: min_gpus must ascend");
    last_min_gpus = row.min_gpus;
  }
  return OkStatus();
}

model::Parallelism DefaultParallelism(const ModelProfile& profile, uint32_t num_gpus, uint32_t gpus_per_host) {
  ParallelismDefault best;
  if (!profile.parallelism.empty()) {
    best.zero_stage = profile.parallelism.front().zero_stage;
    best.micro_batches = profile.parallelism.front().micro_batches;
  }
  for (const ParallelismDefault& row : profile.parallelism) {
    const uint64_t model_parallel = uint64_t{row.tensor} * row.pipeline;
    const bool fits = row.min_gpus <= num_gpus && gpus_per_host % row.tensor == 0 && num_gpus % model_parallel == 0;
    if (fits) best = row;
  }
  const uint32_t data = num_gpus / (best.tensor * best.pipeline);
  return {.tensor = best.tensor,
          .pipeline = best.pipeline,
          .data = data,
          .expert = std::gcd(best.expert, data),
          .zero_stage = best.zero_stage,
          .micro_batches = best.micro_batches};
}

}  // namespace fairlead::collective
