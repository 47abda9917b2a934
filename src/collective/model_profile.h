// What a model asks of the cluster: parameters, work and bytes, all computed from its architecture.
//
// Conventions
//   FLOP         one multiplication and one addition are 2 FLOP. Training = 3 x forward (forward 1, backward 2). No
//                recomputation of activations: efficiency is counted in the FLOP of the model ("model FLOP
//                utilization").
//   token FLOP   transformers: 6 P + 12 A h s a token, P = parameters that a token is multiplied with, A = attention
//                blocks, h = hidden size, s = sequence length; attention is counted as full, not causal
//                (Chowdhery et al., PaLM, 2022, appendix B; Narayanan et al., Megatron-LM, SC'21 without
//                recomputation).
//   parameters   matrices and embedding tables. Biases and norms (under 0.5 %) are left out.
//   encoder-     a token is a pair of a source and a target token, so each layer sees s tokens a sample.
//   decoder
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "model/job.h"

namespace fairlead::collective {

// Attention and feed-forward layers.
struct Transformer {
  uint32_t layers = 0;                  // encoder and decoder together
  uint32_t cross_attention_layers = 0;  // of these: decoder layers that also attend to an encoder
  uint32_t hidden = 0;
  uint32_t heads = 0;            // divides hidden
  uint32_t key_value_heads = 0;  // divides heads; fewer than heads: grouped-query attention
  uint32_t ffn_hidden = 0;       // inner width of the feed-forward block
  bool gated_ffn = false;        // three matrices (SwiGLU) instead of two
  uint32_t vocabulary = 0;
  uint32_t sequence_length = 0;
  uint32_t position_table = 0;  // learned positions; 0 = none (rotary, sinusoidal)
  bool tied_embeddings = true;  // the output projection is the input table
  // Mixture of experts: every `expert_interval`-th layer has `experts` feed-forward blocks, each token visits
  // `active_experts` of them. 1 expert = dense.
  uint32_t experts = 1;
  uint32_t active_experts = 1;
  uint32_t expert_interval = 1;  // divides layers

  friend bool operator==(const Transformer&, const Transformer&) = default;
};

// Published totals of a convolutional network; a sample is one image.
struct Convolution {
  double parameters = 0;
  // Multiply-add operations of a forward pass a sample: what papers and torchvision print as "FLOPs". FLOP = 2 x.
  double forward_multiply_adds = 0;

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

// A dense network on top of embedding tables that are spread over the ranks. Every sample needs one vector of each
// feature, which usually lies elsewhere: an all-to-all of the vectors forward, and of their gradients backward.
struct Recommender {
  double dense_parameters = 0;
  uint32_t embedding_features = 0;   // vectors a sample
  uint32_t embedding_dimension = 0;  // elements a vector

  friend bool operator==(const Recommender&, const Recommender&) = default;
};

using Architecture = std::variant<Transformer, Convolution, Recommender>;

// One row of a profile's default parallelism.
struct ParallelismDefault {
  uint32_t min_gpus = 1;
  uint32_t tensor = 1;
  uint32_t pipeline = 1;
  uint32_t expert = 1;
  uint32_t zero_stage = 0;
  uint32_t micro_batches = 1;

  friend bool operator==(const ParallelismDefault&, const ParallelismDefault&) = default;
};

struct ModelProfile {
  std::string name;
  std::vector<std::string> sources;  // where each number comes from, and what is assumed
  Architecture architecture;

  uint32_t samples_per_micro_batch = 1;  // of each data-parallel rank
  double element_bytes = 2;              // of a parameter and of an activation on the wire
  double gradient_bytes = 2;             // of a gradient on the wire
  // Model FLOP a GPU does while it computes, as a share of its peak; communication and bubbles are not part of it. (0,
  // 1]
  double efficiency = 0.4;
  // Gradient synchronization starts after this fraction of the compute time. [0, 1]; 1 = no overlap.
  double overlap_start = 0.5;
  std::vector<ParallelismDefault> parallelism;  // min_gpus ascending

  friend bool operator==(const ModelProfile&, const ModelProfile&) = default;
};

// Sequence length; 1 for convolutions and recommenders.
uint32_t TokensPerSample(const ModelProfile& profile);

// Parameters that every data-parallel replica holds and synchronizes; without embedding tables of recommenders.
double DenseParameters(const ModelProfile& profile);
// Keys and values that inference keeps of a token, in all layers; nothing where the model has no attention.
std::optional<Bytes> KvBytesPerToken(const ModelProfile& profile);
// Parameters of all experts together; 0 for dense models.
double ExpertParameters(const ModelProfile& profile);
inline double Parameters(const ModelProfile& profile) { return DenseParameters(profile) + ExpertParameters(profile); }
// Parameters that one token meets: of the experts only the active ones.
double ActiveParameters(const ModelProfile& profile);

// Forward and backward of one sample.
Flop TrainingFlopPerSample(const ModelProfile& profile);
// The hidden states of a micro-batch: the message of one tensor-parallel collective and of one pipeline boundary.
// 0 for other than transformers.
Bytes HiddenStateBytes(const ModelProfile& profile);

// Checks that the numbers fit each other. Errors: kInvalidArgument, naming the field.
Status ValidateModelProfile(const ModelProfile& profile);

// How this model is usually run on so many GPUs: the last row with min_gpus <= num_gpus in which tensor groups fit
// hosts and tensor * pipeline divides num_gpus; the rest is data parallelism. Where no row fits, plain data parallelism
// with the ZeRO stage and micro-batches of the first row. Args: num_gpus, gpus_per_host >= 1.
model::Parallelism DefaultParallelism(const ModelProfile& profile, uint32_t num_gpus, uint32_t gpus_per_host);

}  // namespace fairlead::collective
