// Who sends to whom in a collective operation, and which message has to arrive before which other can leave.
//
// Problem     ring, tree, all-to-all and pair transfers differ in their dependencies only; give them one form, so that
//             one recursion (transfer_simulator) simulates them all.
// Method      An edge carries messages 0..K-1 from one member to another. A stage is what the kernel of one member does
//             again and again: take message k - lag from each input edge, then fill message k of each output edge.
//             Ring: one stage per member, its input the previous edge, lag = messages of a ring step.
//             Tree: members up from the leaves to the root and down again, lag 0. Pair: one stage fills, one takes.
// Guarantees  Stages are in an order in which message k of every input with lag 0 is filled before it is taken.
// Differs     NCCL's two trees complement each other, so that no member is inner in both; here the second is the mirror
//             of the first. Inside a host both follow NCCL: a chain, which enters at another GPU for each channel.
// Reference   NCCL 2.2x, src/device/all_reduce.h and primitives; docs/spec/c4.md section 3.1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execution/job_shape.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// An index into the members of a communicator.
using MemberIndex = uint32_t;
using EdgeIndex = uint32_t;

struct TransferEdge {
  MemberIndex source;
  MemberIndex destination;
  uint16_t channel;
};

struct TransferStage {
  MemberIndex member;
  uint32_t lag;
  // Into TransferPattern::stage_edges: inputs, then outputs.
  uint32_t first_edge;
  uint32_t num_inputs;
  uint32_t num_outputs;
};

struct TransferPattern {
  std::vector<TransferEdge> edges;
  std::vector<TransferStage> stages;
  std::vector<EdgeIndex> stage_edges;
  uint32_t lag_max = 0;

  EdgeIndex AddEdge(const TransferEdge& edge);
  void AddStage(MemberIndex member, uint32_t lag, std::span<const EdgeIndex> inputs,
                std::span<const EdgeIndex> outputs);
  std::span<const EdgeIndex> Inputs(const TransferStage& stage) const {
    return std::span(stage_edges).subspan(stage.first_edge, stage.num_inputs);
  }
  std::span<const EdgeIndex> Outputs(const TransferStage& stage) const {
    return std::span(stage_edges).subspan(stage.first_edge + stage.num_inputs, stage.num_outputs);
  }
};

// The members of `ranks`, host by host, those of a host rotated by the channel: NCCL's rings and trees enter a host at
// another GPU for each channel, so that channels use different NICs.
std::vector<MemberIndex> ChannelOrder(const JobShape& shape, std::span<const model::RankId> ranks, uint32_t channel);

// At least 2 ranks each.
TransferPattern RingPattern(const JobShape& shape, std::span<const model::RankId> ranks);
TransferPattern TreePattern(const JobShape& shape, std::span<const model::RankId> ranks);
// A pair of ranks uses one channel.
TransferPattern AllToAllPattern(const JobShape& shape, std::span<const model::RankId> ranks);
// The one of the three that the shape's exchanges of gradients use.
TransferPattern DataParallelPattern(const JobShape& shape, std::span<const model::RankId> ranks);
// All to all, on separate connections: channels from the shape's number of channels on.
TransferPattern OpeningPattern(const JobShape& shape, std::span<const model::RankId> ranks);
// From member 0 to member 1, over all channels.
TransferPattern PairPattern(const JobShape& shape);

}  // namespace fairlead::execution
