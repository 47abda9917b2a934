// The iteration of a job given by plain numbers, as the examples of Crux are: compute so long, then move so many bytes.
#pragma once

#include "base/status.h"
#include "base/units.h"
#include "collective/collective_kind.h"
#include "collective/rank_layout.h"
#include "model/flow.h"

namespace fairlead::collective {

// One compute block and one communication block (Crux 4.2).
struct SimpleIterationSpec {
  Seconds compute_time = Seconds(0);  // per GPU; >= 0
  Flop work = Flop(0);                // of the whole job; 0 = GPUs * compute_time * peak
  Bytes size = Bytes(0);              // buffer of the collective, see collective_kind.h; 0 = no communication
  double start_fraction = 1;          // of the compute time after which communication starts; [0, 1]; 1 = no overlap
  bool blocks_compute = false;
  CollectiveKind collective = CollectiveKind::kRingAllReduce;
};

// Args: layout: at least one rank; the collective runs among all ranks. gpu_peak > 0, used when spec.work is 0.
// Errors: kInvalidArgument for a number out of range. Cost: that of the collective.
Result<model::Iteration> BuildSimpleIteration(const SimpleIterationSpec& spec, const RankLayout& layout,
                                              FlopPerSecond gpu_peak);

}  // namespace fairlead::collective
