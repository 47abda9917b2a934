// How many bytes one rank hands to each kind of collective in one iteration. Pure arithmetic; no fabric, no placement.
//
// Notation    b samples, s tokens, h hidden size, e element bytes, L layers, m micro-batches, T, P, E sizes of tensor,
//             pipeline and expert parallelism. H = b s h e: the hidden states of a micro-batch.
//   tensor    2 all-reduces of H in each direction for each layer (after attention and after the feed-forward block):
//             4 H m L/P, and 2 H m more for each cross-attention layer. With sequence parallelism each all-reduce is an
//             all-gather and a reduce-scatter of H: the same bytes on the wire.
//   pipeline  H m / T for each boundary and direction: a stage hands on its sequence-parallel slice.
//   experts   dispatch and combine, forward and backward, each k H / T with k active experts: 4 k H m / T for each
//   layer of
//             experts of the stage.
//   embedding vectors forward, their gradients backward: 2 b m * features * dimension * e.
//   data      gradients and parameters of the rank's shard, once an iteration: dense ones 1/(T P) of the model, experts
//             1/(T P E). Embedding tables at the pipeline's ends are spread evenly over the stages.
// Reference   Shoeybi et al., Megatron-LM, 2019, section 3; Korthikanti et al., 2022, section 4.2; Rajbhandari et al.,
//             ZeRO, SC'20, section 7; Crux spec, section 12.
#pragma once

#include "base/units.h"
#include "collective/model_profile.h"
#include "model/job.h"

namespace fairlead::collective {

// Buffer sizes S of one rank, summed over the iteration; what that puts on the wire is the collective's business.
struct IterationTraffic {
  Bytes tensor_all_reduce;
  Bytes pipeline_message;  // on each boundary, forward; the same backward
  Bytes expert_all_to_all;
  Bytes embedding_all_to_all;
  Bytes dense_gradients;
  Bytes dense_parameters;
  Bytes expert_gradients;
  Bytes expert_parameters;

  // Into how many collectives, one after another, the bytes above are divided.
  double num_tensor_all_reduces = 0;
  double num_pipeline_messages = 0;
  double num_expert_all_to_alls = 0;
  double num_embedding_all_to_alls = 0;
};

// `parallelism` must fit the profile, see BuildIteration.
IterationTraffic ComputeIterationTraffic(const ModelProfile& profile, const model::Parallelism& parallelism);

}  // namespace fairlead::collective
