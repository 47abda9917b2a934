#include "execution/job_shape.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

namespace fairlead::execution {

namespace {

using model::Communicator;
using model::CommunicatorId;
using model::JobLayout;
using model::LeafId;
using model::RankId;
using model::RankPlace;

struct Limit {
  const char* field;
  uint64_t value;
  uint64_t least;
  uint64_t most;
};

Status CheckLimit(const Limit& limit) {
  if (limit.value >= limit.least && limit.value <= limit.most) return OkStatus();
  return InvalidArgument(
      fmt::format("job shape: {} must be {} to {}, it is {}", limit.field, limit.least, limit.most, limit.value));
}

std::vector<LeafId> LeavesOf(const JobShape& shape, HostId host, uint32_t gpu) {
  uint32_t switch_index = host.value() / shape.hosts_per_leaf;
  if (shape.has_rails) switch_index = switch_index * shape.gpus_per_host + gpu;
  std::vector<LeafId> leaves;
  for (uint32_t plane = 0; plane < shape.planes; ++plane) leaves.emplace_back(switch_index * shape.planes + plane);
  return leaves;
}

}  // namespace

std::string_view Name(DataParallelAlgorithm algorithm) {
  static constexpr std::array<std::string_view, 4> kNames = {"ring", "sharded ring", "tree", "all-to-all"};
  return kNames.at(static_cast<size_t>(algorithm));
}

Status JobShape::Validate() const {
  constexpr uint64_t kMany = 1'000'000;
  const uint64_t ranks = uint64_t{tensor_parallel} * data_parallel * pipeline_parallel;
  for (const Limit& limit : {Limit{"tensor_parallel", tensor_parallel, 1, kMany},
                             {"data_parallel", data_parallel, 1, kMany},
                             {"pipeline_parallel", pipeline_parallel, 1, kMany},
                             {"the number of ranks", ranks, 2, kMany},
                             {"gpus_per_host", gpus_per_host, 1, 256},
                             {"hosts_per_leaf", hosts_per_leaf, 1, kMany},
                             {"planes", planes, 1, 16},
                             {"channels", channels, 1, 64},
                             {"micro_batches", micro_batches, 1, kMany},
                             {"gradient_buckets", gradient_buckets, 1, 1000},
                             {"messages_per_ring_step", messages_per_ring_step, 1, 7},
                             {"messages_per_tree_edge", messages_per_tree_edge, 1, kMany},
                             {"messages_per_pair", messages_per_pair, 1, kMany}}) {
    if (Status status = CheckLimit(limit); !status.ok()) return status;
  }
  if (gpus_per_host % tensor_parallel != 0) {
    return InvalidArgument(fmt::format("job shape: gpus_per_host must be a multiple of tensor_parallel = {}, it is {}",
                                       tensor_parallel, gpus_per_host));
  }
  if (link_speed.value() <= 0 || nvlink_speed.value() <= 0) {
    return InvalidArgument("job shape: link_speed and nvlink_speed must be above 0");
  }
  if (copy_headroom < 1) {
    return InvalidArgument(fmt::format("job shape: copy_headroom must be at least 1, it is {}", copy_headroom));
  }
  if (enqueue_share < 0 || enqueue_share > 1) {
    return InvalidArgument(fmt::format("job shape: enqueue_share must be 0 to 1, it is {}", enqueue_share));
  }
  return OkStatus();
}

CommunicatorIds::CommunicatorIds(const JobShape& job_shape) : shape(job_shape) {
  const uint32_t tensor = shape.tensor_parallel;
  const uint32_t data = shape.data_parallel;
  const uint32_t stages = shape.pipeline_parallel;
  first_data = tensor > 1 ? data * stages : 0;
  first_pipeline = first_data + (data > 1 ? tensor * stages : 0);
  first_all = first_pipeline + (stages > 1 ? tensor * data : 0);
}

CommunicatorId CommunicatorIds::Tensor(RankId rank) const {
  return CommunicatorId(rank.value() / shape.tensor_parallel);
}

CommunicatorId CommunicatorIds::Data(RankId rank) const {
  return CommunicatorId(first_data + shape.TensorOf(rank) + shape.tensor_parallel * shape.StageOf(rank));
}

CommunicatorId CommunicatorIds::Pipeline(RankId rank) const {
  return CommunicatorId(first_pipeline + rank.value() % (shape.tensor_parallel * shape.data_parallel));
}

JobLayout MakeLayout(const JobShape& shape, JobId job) {
  JobLayout layout;
  layout.job = job;
  const CommunicatorIds ids(shape);
  layout.communicators.resize(ids.first_all + 1);
  const auto join = [&layout](CommunicatorId id, const char* axis, uint32_t first, RankId rank) {
    Communicator& communicator = layout.communicators[id.index()];
    if (communicator.name.empty()) communicator.name = fmt::format("{} {}", axis, id.value() - first);
    communicator.ranks.push_back(rank);
  };
  for (uint32_t r = 0; r < shape.NumRanks(); ++r) {
    const RankId rank(r);
    const uint32_t gpu = r % shape.gpus_per_host;
    layout.ranks.push_back(RankPlace{
        .host = shape.HostOf(rank), .gpu = gpu, .nic = NicId(r), .leaves = LeavesOf(shape, shape.HostOf(rank), gpu)});
    if (shape.tensor_parallel > 1) join(ids.Tensor(rank), "tensor", 0, rank);
    if (shape.data_parallel > 1) join(ids.Data(rank), "data", ids.first_data, rank);
    if (shape.pipeline_parallel > 1) join(ids.Pipeline(rank), "pipeline", ids.first_pipeline, rank);
    layout.communicators[ids.All().index()].ranks.push_back(rank);
  }
  layout.communicators[ids.All().index()].name = "all";
  return layout;
}

}  // namespace fairlead::execution
