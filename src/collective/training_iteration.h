// One training iteration of a placed job: how long its GPUs compute, and which flows they need when.
//
// Compute  work = samples of the iteration * training FLOP of one; time = work / (GPUs * peak * efficiency). A
//          pipeline of P stages and m micro-batches idles (P-1)/m of that besides (1F1B and GPipe alike): bubble_time,
//          not busy time.
// Phases   1. what a layer waits for blocks compute: tensor all-reduces, expert and embedding all-to-all, pipeline
//             sends. All layers and micro-batches together are one block in the middle of the time before gradients
//             start, or `blocking_rounds` equal blocks spread over it.
//          2. gradients of data-parallel replicas start at the overlap fraction and run beside the rest of backward.
//             ZeRO 0: all-reduce. ZeRO 1, 2: reduce-scatter, and all-gather of the parameters after the compute.
//             ZeRO 3: parameters are gathered for forward (from 0) and again for backward (from 1/3, where forward
//             ends), for each micro-batch; then reduce-scatter. Experts are synchronized in the same phases.
//             In buckets: the k-th of K is ready when k/K of backward is done, whatever the overlap fraction; up to 64
//             are phases of their own, more are merged.
//          Data-parallel synchronization happens once an iteration whatever the micro-batches (gradient accumulation).
// Numbers  bytes by iteration_traffic.h, groups by rank_grid.h.
#pragma once

#include <cstdint>
#include <optional>

#include "base/status.h"
#include "base/units.h"
#include "collective/model_profile.h"
#include "collective/rank_layout.h"
#include "model/flow.h"
#include "model/job.h"

namespace fairlead::collective {

// Between replicas. Reduce-scatter and all-gather know no tree; kTree runs them on flat rings, as NCCL does.
enum class DataParallelAlgorithm : uint8_t {
  kHierarchical,  // inside hosts, then one ring per rail
  kRing,          // one flat ring per group
  kTree,          // double binary tree
  kInNetwork,     // inside hosts, then summed by the switches; the halves as kHierarchical
};

struct IterationOptions {
  DataParallelAlgorithm data_parallel = DataParallelAlgorithm::kHierarchical;
  // All-to-all changes the rail over NVLink first (PXN); false: directly, across rails.
  bool rail_all_to_all = true;
  // Overrides the profile's; [0, 1]. Lower: gradients start earlier and hide better behind compute.
  std::optional<double> overlap_start = std::nullopt;
  // Gradients are exchanged in buckets of so much, each as soon as it is ready; nothing: in one, from overlap_start on.
  std::optional<Bytes> gradient_bucket = std::nullopt;
  // Blocks that model-parallel communication is cut into; [1, 1024]. More: smaller bursts, more phases and flows.
  uint32_t blocking_rounds = 1;
};

// Args: layout [rank], gpu_peak > 0: dense half-precision peak of one GPU.
// Errors: kInvalidArgument: what RankGrid::Create refuses; tensor, pipeline or expert sizes that the model cannot be
//         divided by; zero_stage > 3; micro_batches 0; options out of range.
// Cost: O(ranks) flows and time per round; all-to-all O(E^2) per expert group, for recommenders O(ranks^2 / GPUs per
// host).
Result<model::Iteration> BuildIteration(const ModelProfile& profile, const model::Parallelism& parallelism,
                                        const RankLayout& layout, FlopPerSecond gpu_peak,
                                        const IterationOptions& options = {});

}  // namespace fairlead::collective
