// A job's iteration as a sequence of steps, "compute so long, then this collective", and what it is on placed GPUs.
//
// Recorded or generated workloads (src/workload) say what one rank does, step after step. This file turns such a
// sequence into a model::Iteration: few phases of flows on a compute clock.
//
// Notation    C seconds of compute in all. Step i begins its collective at clock position t_i, the compute of all steps
//             up to i; the next compute may run beside it for `overlap` seconds, then it waits until the collective is
//             over. overlap 0: blocking. overlap kUntilEnd, or past C: only the end of the iteration waits.
// Method      1. positions, phases, merging: sequence_phases.h   2. communicators of each group from the ranks
//             3. flows of each (group, kind) once, then scaled: every collective is linear in its bytes.
// Work        sequence.work, else C * GPUs * peak * options.flop_utilization: a sequence of seconds doesn't say how
//             many of a GPU's FLOP were used.
// Bubble      (P-1)/m of C for P pipeline stages and m micro-batches, as in training_iteration.h.
// Cost        O(steps log steps + distinct (group, kind) * ranks log ranks + flows of the result); all-to-all flows as
//             in all_to_all.h.
// Guarantees  bytes between each pair of GPUs and the compute are those of the steps, however they are merged (to
//             rounding).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "collective/collective_kind.h"
#include "collective/rank_layout.h"
#include "model/flow.h"
#include "model/job.h"

namespace fairlead::collective {

// What a step belongs to. Send/receive of kForward goes from earlier pipeline stages to later ones, of the others back.
enum class TrainingPass : uint8_t {
  kForward,
  kInputGradient,
  kWeightGradient,
};

// "forward", "input-grad", "weight-grad".
std::string_view Name(TrainingPass pass);

// Which ranks take part in a collective: one communicator, or several alike ones at once.
struct StepGroup {
  enum class Kind : uint8_t {
    kWorld,       // all ranks
    kTensor,      // the groups of RankGrid
    kData,        // …
    kExpert,      // all-to-all among the holders of one replica's experts
    kExpertData,  // holders of the same experts
    kPipeline,    // neighbouring stages; send/receive only
    kStrided,     // all ranks in groups of `size`, `stride` apart: {b, b + stride, …}
    kShifted,     // pairs (r, r + shift) for every rank that has such a partner; send/receive only
    kListed,      // the communicators CollectiveSequence::listed[index]
  };
  Kind kind = Kind::kWorld;
  uint32_t size = 0;    // kStrided; >= 1
  uint32_t stride = 0;  // kStrided; >= 1
  int64_t shift = 0;    // kShifted; not 0
  uint32_t index = 0;   // kListed

  friend auto operator<=>(const StepGroup&, const StepGroup&) = default;
};

// "tp", "dp", "ep", "edp", "pp", "world", "8x1" (size x stride), "+4" (shift), "list 3".
std::string ToString(const StepGroup& group);

inline constexpr Seconds kUntilEnd = Seconds(std::numeric_limits<double>::infinity());

struct SequenceStep {
  Seconds compute;  // of each GPU, before the collective begins; >= 0
  Bytes bytes;      // meaning: collective_kind.h; 0 = no collective
  Seconds overlap;  // compute beside the collective before something waits for it; 0 = blocking; kUntilEnd
  CollectiveKind kind = CollectiveKind::kHierarchicalAllReduce;
  StepGroup group;
  TrainingPass pass = TrainingPass::kForward;

  friend bool operator==(const SequenceStep&, const SequenceStep&) = default;
};

// Communicators by rank. They may share ranks.
using ListedGroup = std::vector<std::vector<uint32_t>>;

// What one iteration does, on any GPUs.
struct CollectiveSequence {
  std::string name;  // of the file it came from
  std::vector<SequenceStep> steps;
  std::vector<ListedGroup> listed;
  uint32_t num_layers = 0;  // as the file counts them, for people; 0 = it has none
  uint32_t num_gpus = 0;    // that it was made for; 0 = any number
  // data == 0: whatever the number of GPUs leaves.
  model::Parallelism parallelism = {.data = 0};
  Flop work;                       // of all GPUs; 0 = unknown
  std::vector<std::string> notes;  // what was left out or assumed, for people
};

struct SequenceOptions {
  // The compute clock is cut into so many equal windows; collectives of one window, group and kind become one phase.
  // More: bursts stay where they were, more phases and flows. 0 = merge nothing. [0, 4096]
  uint32_t max_rounds = 16;
  // Fewer rounds are taken where the flows of the iteration would be more than this; >= 1. Not with max_rounds 0.
  uint64_t max_flows = 1u << 18;
  // FLOP a GPU does in a second of compute, as a share of its peak, where the sequence doesn't say. (0, 1]. Raising it
  // raises the job's GPU intensity.
  double flop_utilization = 0.4;
};

// The parallelism of the sequence on so many GPUs. Errors: kInvalidArgument when the sequence was made for another
// number of GPUs, or when tensor * pipeline doesn't divide it.
Result<model::Parallelism> ParallelismOf(const CollectiveSequence& sequence, uint32_t num_gpus);

// Errors: kInvalidArgument, naming the sequence and the step: numbers out of range, groups that don't fit the ranks,
// what RankGrid::Create refuses (only when a step uses its groups).
// Args: gpu_peak > 0: dense half-precision peak of one GPU.
Result<model::Iteration> BuildSequenceIteration(const CollectiveSequence& sequence,
                                                const model::Parallelism& parallelism, const RankLayout& layout,
                                                FlopPerSecond gpu_peak, const SequenceOptions& options = {});

}  // namespace fairlead::collective
