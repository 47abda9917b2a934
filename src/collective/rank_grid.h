// Which ranks talk to each other: the tensor, data, expert and pipeline groups of a job.
//
// Order    Megatron's: tensor fastest, then data, then pipeline: rank = t + T (d + D p). So a tensor group lies inside
//          a host, replicas are next to each other, and pipeline stages are far apart.
// Experts  data-parallel ranks d with equal d / E hold the experts of one replica together (an expert group,
//          all-to-all); ranks with equal d % E hold the same experts (an expert data group, gradients of experts).
// Reference  Narayanan et al., Efficient large-scale language model training on GPU clusters, SC'21;
//            Megatron-Core's default order "tp-cp-ep-dp-pp".
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "collective/rank_layout.h"
#include "model/job.h"

namespace fairlead::collective {

class RankGrid {
 public:
  // Errors: kInvalidArgument when a size is 0, tensor * pipeline * data is not the number of ranks, expert does not
  // divide data, or a tensor group lies unevenly on several hosts (evenly is slow, but possible).
  static Result<RankGrid> Create(const RankLayout& layout, const model::Parallelism& parallelism);

  const RankPlace& At(uint32_t tensor, uint32_t data, uint32_t pipeline) const {
    return ranks_[tensor + size_t{sizes_.tensor} * (data + size_t{sizes_.data} * pipeline)];
  }

  // Each in a fixed order; every rank is in exactly one group of each kind. Cost: O(ranks).
  std::vector<Communicator> TensorGroups() const;
  std::vector<Communicator> DataGroups() const { return DataGroupsOfStride(1); }
  std::vector<Communicator> ExpertGroups() const;
  std::vector<Communicator> ExpertDataGroups() const { return DataGroupsOfStride(sizes_.expert); }
  // Ranks of neighbouring stages with the same tensor and data index: (earlier stage, later stage).
  std::vector<std::pair<RankPlace, RankPlace>> PipelineBoundaries() const;

 private:
  RankGrid(Communicator ranks, const model::Parallelism& sizes) : ranks_(std::move(ranks)), sizes_(sizes) {}
  // For each tensor and pipeline index and each first < stride: the data indices first, first + stride, …
  std::vector<Communicator> DataGroupsOfStride(uint32_t stride) const;

  Communicator ranks_;
  model::Parallelism sizes_;
};

}  // namespace fairlead::collective
