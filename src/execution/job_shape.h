// The simulated training job: its division over ranks, the place of the ranks, and the content of an iteration.
//
//     rank = tensor + T * (data + D * pipeline)          ranks fill hosts in this order, one GPU and one NIC each
//     communicators: "tensor 0".., "data 0".., "pipeline 0".., "all"; those of one rank only are left out
#pragma once

#include <cstdint>
#include <string_view>

#include "base/sim_time.h"
#include "base/status.h"
#include "base/units.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// How gradients are exchanged between the data-parallel ranks.
enum class DataParallelAlgorithm : uint8_t {
  kRing,         // all-reduce over rings
  kShardedRing,  // reduce-scatter, then all-gather, over rings
  kTree,         // all-reduce over two trees, half of the channels each
  kAllToAll,     // every rank sends to every other one
};

std::string_view Name(DataParallelAlgorithm algorithm);

// In which order a pipeline stage works on its micro-batches.
enum class PipelineOrder : uint8_t {
  kAllForwardFirst,       // GPipe
  kOneForwardOneBackward  // 1F1B
};

struct JobShape {
  // Ranks by axis; each at least 1.
  uint32_t tensor_parallel = 1;  // inside a host
  uint32_t data_parallel = 8;
  uint32_t pipeline_parallel = 1;

  // Their places.
  uint32_t gpus_per_host = 8;  // a multiple of tensor_parallel
  uint32_t hosts_per_leaf = 4;
  uint32_t planes = 1;     // ports of a NIC, each with its own leaf; channel c uses plane c mod planes
  bool has_rails = false;  // NICs of equal index share a leaf, others do not
  uint32_t channels = 2;   // of each communicator
  BytesPerSecond link_speed = GigabitsPerSecond(400);     // of a port of a NIC
  BytesPerSecond nvlink_speed = GigabytesPerSecond(200);  // of a channel between GPUs of one host
  // A GPU fills the buffers of a channel this many times as fast as the channel's share of its port sends them. Higher:
  // ranks that are late send longer bursts, which queue in front of their own NIC. At least 1.
  double copy_headroom = 1.25;
  SimDuration latency{10'000};    // of a message on the network
  SimDuration flush_time{1'000};  // received data, until the GPU may read it

  // One iteration.
  uint32_t micro_batches = 8;
  PipelineOrder pipeline_order = PipelineOrder::kOneForwardOneBackward;
  SimDuration loading_time{20'000'000};          // the host thread waits for its samples
  SimDuration forward_time{35'000'000};          // of one micro-batch on one stage
  SimDuration backward_time{70'000'000};         // of one micro-batch on one stage
  SimDuration tensor_operation_time{2'000'000};  // one all-reduce over NVLink after each of the two
  SimDuration optimizer_time{20'000'000};
  // The host thread enqueues a micro-batch in this part of the time that the GPU takes for it; in [0, 1].
  double enqueue_share = 0.2;
  SimDuration call_time{5'000};  // that each call of the communication library takes the host thread
  // That each data-parallel rank of the first stage sends to each other one when it has its samples, by single sends and
  // receives, as programs that deal out tokens do; 0: it does not.
  uint64_t opening_bytes = 0;
  uint64_t activation_bytes = 32'000'000;  // of a micro-batch between stages
  uint64_t gradient_bytes = 1'000'000'000;
  uint32_t gradient_buckets = 2;  // operations that exchange them, one after the other; bucket b is b + 1 parts
  DataParallelAlgorithm algorithm = DataParallelAlgorithm::kRing;
  // Messages: of a ring step, below 8; of a tree edge in one direction; of a pair in pipelines and all-to-all.
  uint32_t messages_per_ring_step = 1;
  uint32_t messages_per_tree_edge = 32;
  uint32_t messages_per_pair = 4;

  // What is not the daily round.
  uint32_t warm_up_iterations = 2;  // slower ones at the start: compilation, lazy connections
  double warm_up_factor = 3;
  uint32_t checkpoint_every = 0;  // iterations; 0: never
  // The first data-parallel rank of each model part writes, the others wait in a barrier.
  SimDuration checkpoint_time{3'000'000'000};
  uint32_t pause_every = 0;  // iterations; 0: never. Evaluation or idleness: no rank has an operation pending.
  SimDuration pause_time{5'000'000'000};
  uint64_t iterations = 0;  // after which the job ends; 0: it runs forever

  uint32_t NumRanks() const { return tensor_parallel * data_parallel * pipeline_parallel; }
  uint32_t NumHosts() const { return (NumRanks() + gpus_per_host - 1) / gpus_per_host; }
  model::RankId RankAt(uint32_t tensor, uint32_t data, uint32_t pipeline) const {
    return model::RankId(tensor + tensor_parallel * (data + data_parallel * pipeline));
  }
  uint32_t TensorOf(model::RankId rank) const { return rank.value() % tensor_parallel; }
  uint32_t DataOf(model::RankId rank) const { return rank.value() / tensor_parallel % data_parallel; }
  uint32_t StageOf(model::RankId rank) const { return rank.value() / tensor_parallel / data_parallel; }
  HostId HostOf(model::RankId rank) const { return HostId(rank.value() / gpus_per_host); }
  bool SameHost(model::RankId a, model::RankId b) const { return HostOf(a) == HostOf(b); }

  // Errors: InvalidArgument names the field, what it must be and what it is.
  Status Validate() const;
};

// The communicators of a shape, in the order of their ids.
struct CommunicatorIds {
  explicit CommunicatorIds(const JobShape& shape);

  // Of the group that a rank is in; call them only where that axis has more than one rank.
  model::CommunicatorId Tensor(model::RankId rank) const;
  model::CommunicatorId Data(model::RankId rank) const;
  model::CommunicatorId Pipeline(model::RankId rank) const;
  model::CommunicatorId All() const { return model::CommunicatorId(first_all); }

  JobShape shape;
  uint32_t first_data = 0;
  uint32_t first_pipeline = 0;
  uint32_t first_all = 0;
};

// `shape` must be valid. NIC and rank have equal ids; a leaf is (group of hosts, rail, plane).
model::JobLayout MakeLayout(const JobShape& shape, JobId job);

}  // namespace fairlead::execution
