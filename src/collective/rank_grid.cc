#include "collective/rank_grid.h"

#include <fmt/format.h>

namespace fairlead::collective {
namespace {

Status ValidateSizes(size_t num_ranks, const model::Parallelism& p) {
  if (p.tensor == 0 || p.pipeline == 0 || p.data == 0 || p.expert == 0) {
    return InvalidArgument("parallelism: tensor, pipeline, data and expert must be at least 1");
  }
  if (p.tensor > num_ranks || p.pipeline > num_ranks || p.data > num_ranks ||
      uint64_t{p.tensor} * p.pipeline > num_ranks || uint64_t{p.tensor} * p.pipeline * p.data != num_ranks) {
    return InvalidArgument(fmt::format("parallelism: tensor {} * pipeline {} * data {} is not the number of GPUs, {}",
                                       p.tensor, p.pipeline, p.data, num_ranks));
  }
  if (p.data % p.expert != 0) {
    return InvalidArgument(fmt::format("parallelism: expert {} does not divide data {}", p.expert, p.data));
  }
  return OkStatus();
}

Status ValidateTensorGroup(const Communicator& group) {
  const std::vector<Communicator> hosts = GroupByHost(group);
  for (const Communicator& host : hosts) {
    if (host.size() != hosts[0].size()) {
      return InvalidArgument(fmt::format(
          "parallelism: a tensor group of {} GPUs lies unevenly on {} hosts ({} GPUs on one, {} on another); choose a "
          "tensor size that divides the GPUs per host, or place the job on whole hosts",
          group.size(), hosts.size(), hosts[0].size(), host.size()));
    }
  }
  return OkStatus();
}

}  // namespace

Result<RankGrid> RankGrid::Create(const RankLayout& layout, const model::Parallelism& parallelism) {
  FL_RETURN_IF_ERROR(ValidateSizes(layout.ranks.size(), parallelism));
  RankGrid grid(layout.ranks, parallelism);
  for (const Communicator& group : grid.TensorGroups()) FL_RETURN_IF_ERROR(ValidateTensorGroup(group));
  return grid;
}

std::vector<Communicator> RankGrid::TensorGroups() const {
  std::vector<Communicator> groups;
  for (size_t first = 0; first < ranks_.size(); first += sizes_.tensor) {
    const auto begin = ranks_.begin() + static_cast<std::ptrdiff_t>(first);
    groups.emplace_back(begin, begin + sizes_.tensor);
  }
  return groups;
}

std::vector<Communicator> RankGrid::DataGroupsOfStride(uint32_t stride) const {
  std::vector<Communicator> groups;
  for (uint32_t p = 0; p < sizes_.pipeline; ++p) {
    for (uint32_t t = 0; t < sizes_.tensor; ++t) {
      for (uint32_t first = 0; first < stride; ++first) {
        Communicator& group = groups.emplace_back();
        for (uint32_t d = first; d < sizes_.data; d += stride) group.push_back(At(t, d, p));
      }
    }
  }
  return groups;
}

std::vector<Communicator> RankGrid::ExpertGroups() const {
  std::vector<Communicator> groups;
  for (uint32_t p = 0; p < sizes_.pipeline; ++p) {
    for (uint32_t t = 0; t < sizes_.tensor; ++t) {
      for (uint32_t d = 0; d < sizes_.data; ++d) {
        if (d % sizes_.expert == 0) groups.emplace_back();
        groups.back().push_back(At(t, d, p));
      }
    }
  }
  return groups;
}

std::vector<std::pair<RankPlace, RankPlace>> RankGrid::PipelineBoundaries() const {
  std::vector<std::pair<RankPlace, RankPlace>> boundaries;
  const size_t stage_size = size_t{sizes_.tensor} * sizes_.data;
  for (size_t rank = 0; rank + stage_size < ranks_.size(); ++rank) {
    boundaries.emplace_back(ranks_[rank], ranks_[rank + stage_size]);
  }
  return boundaries;
}

}  // namespace fairlead::collective
