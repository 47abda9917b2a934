#include "collective/model_profile_yaml.h"

#include <fmt/format.h>

#include "base/yaml_reader.h"

namespace fairlead::collective {
namespace {

constexpr int64_t kMaxWidth = 1 << 20;  // of any dimension of a model
constexpr int64_t kMaxLayers = 100'000;
constexpr int64_t kMaxVocabulary = 1 << 28;
constexpr int64_t kMaxGpus = 1 << 24;
constexpr double kMaxTotal = 1e18;  // parameters, operations

uint32_t RequiredCount(YamlMap& map, std::string_view key, int64_t max) {
  return static_cast<uint32_t>(map.RequiredInt(key, 1, max));
}

uint32_t Count(YamlMap& map, std::string_view key, uint32_t fallback, int64_t min, int64_t max) {
  return static_cast<uint32_t>(map.Int(key, fallback, min, max));
}

Result<Architecture> ReadTransformer(YamlMap map) {
  Transformer t;
  t.layers = RequiredCount(map, "layers", kMaxLayers);
  t.cross_attention_layers = Count(map, "cross_attention_layers", 0, 0, kMaxLayers);
  t.hidden = RequiredCount(map, "hidden", kMaxWidth);
  t.heads = RequiredCount(map, "heads", kMaxWidth);
  t.key_value_heads = Count(map, "key_value_heads", t.heads, 1, kMaxWidth);
  t.ffn_hidden = Count(map, "ffn_hidden", 4 * t.hidden, 1, 4 * kMaxWidth);
  t.gated_ffn = map.Bool("gated_ffn", false);
  t.vocabulary = RequiredCount(map, "vocabulary", kMaxVocabulary);
  t.sequence_length = RequiredCount(map, "sequence_length", kMaxWidth);
  t.position_table = Count(map, "position_table", 0, 0, kMaxWidth);
  t.tied_embeddings = map.Bool("tied_embeddings", true);
  t.experts = Count(map, "experts", 1, 1, kMaxWidth);
  t.active_experts = Count(map, "active_experts", 1, 1, kMaxWidth);
  t.expert_interval = Count(map, "expert_interval", 1, 1, kMaxLayers);
  FL_RETURN_IF_ERROR(map.Finish());
  return Architecture(t);
}

Result<Architecture> ReadConvolution(YamlMap map) {
  Convolution c;
  c.parameters = map.RequiredDouble("parameters", 1, kMaxTotal);
  c.forward_multiply_adds = map.RequiredDouble("forward_multiply_adds", 1, kMaxTotal);
  FL_RETURN_IF_ERROR(map.Finish());
  return Architecture(c);
}

Result<Architecture> ReadRecommender(YamlMap map) {
  Recommender r;
  r.dense_parameters = map.RequiredDouble("dense_parameters", 1, kMaxTotal);
  r.embedding_features = RequiredCount(map, "embedding_features", kMaxWidth);
  r.embedding_dimension = RequiredCount(map, "embedding_dimension", kMaxWidth);
  FL_RETURN_IF_ERROR(map.Finish());
  return Architecture(r);
}

// Exactly one of the three sections names the architecture.
Result<Architecture> ReadArchitecture(YamlMap& root) {
  auto transformer = root.Map("transformer");
  auto convolution = root.Map("convolution");
  auto recommender = root.Map("recommender");
  if (transformer.has_value() + convolution.has_value() + recommender.has_value() != 1) {
    root.Fail("", "expected exactly one of the sections transformer, convolution, recommender");
    return root.Finish();
  }
  if (transformer) return ReadTransformer(*transformer);
  if (convolution) return ReadConvolution(*convolution);
  return ReadRecommender(*recommender);
}

Status ReadTraining(YamlMap map, ModelProfile& profile) {
  profile.samples_per_micro_batch = RequiredCount(map, "samples_per_micro_batch", kMaxWidth);
  profile.element_bytes = map.Double("element_bytes", profile.element_bytes, 0.125, 16);
  profile.gradient_bytes = map.Double("gradient_bytes", profile.gradient_bytes, 0.125, 16);
  profile.efficiency = map.RequiredDouble("efficiency", 1e-6, 1);
  profile.overlap_start = map.Double("overlap_start", profile.overlap_start, 0, 1);
  return map.Finish();
}

Status ReadParallelism(YamlMap& root, ModelProfile& profile) {
  for (YamlMap& map : root.Maps("parallelism")) {
    ParallelismDefault row;
    row.min_gpus = RequiredCount(map, "min_gpus", kMaxGpus);
    row.tensor = Count(map, "tensor", 1, 1, kMaxGpus);
    row.pipeline = Count(map, "pipeline", 1, 1, kMaxGpus);
    row.expert = Count(map, "expert", 1, 1, kMaxGpus);
    row.zero_stage = Count(map, "zero_stage", 0, 0, 3);
    row.micro_batches = Count(map, "micro_batches", 1, 1, kMaxWidth);
    FL_RETURN_IF_ERROR(map.Finish());
    profile.parallelism.push_back(row);
  }
  return OkStatus();
}

Result<ModelProfile> ReadProfile(const YamlDocument& document) {
  YamlMap root = document.Root();
  ModelProfile profile;
  profile.name = root.RequiredString("name");
  profile.sources = root.Strings("source");
  FL_ASSIGN_OR_RETURN(profile.architecture, ReadArchitecture(root));
  FL_RETURN_IF_ERROR(ReadTraining(root.RequiredMap("training"), profile));
  FL_RETURN_IF_ERROR(ReadParallelism(root, profile));
  FL_RETURN_IF_ERROR(root.Finish());
  if (const Status status = ValidateModelProfile(profile); !status.ok()) {
    return InvalidArgument(fmt::format("{}: {}", document.name(), status.message()));
  }
  return profile;
}

}  // namespace

Result<ModelProfile> LoadModelProfileFile(const std::string& path) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::LoadFile(path));
  return ReadProfile(document);
}

Result<ModelProfile> ParseModelProfile(std::string_view text, const std::string& file_name) {
  FL_ASSIGN_OR_RETURN(const YamlDocument document, YamlDocument::Parse(text, file_name));
  return ReadProfile(document);
}

}  // namespace fairlead::collective
