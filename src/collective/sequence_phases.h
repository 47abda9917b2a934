// From steps to phases: where on the compute clock each collective of a sequence lies, and which are merged.
//
// Problem     a model::Iteration is a list of phases, one after the other, each blocking the compute clock or beside
//             it. A workload of 10,000 layers has 30,000 collectives; a simulation wants tens of phases.
// Notation    t, o, C as in collective_sequence.h; d_i seconds that collective i takes alone; R windows [w C/R,
//             (w+1) C/R).
// Method      1. Window: collectives that begin in one window and have the same group, kind, pass direction and class
//                are one phase with the sum of their bytes. Classes: blocking; awaited (0 < o, something waits before
//                the end); tail (nothing waits).
//             2. Start of the phase. Blocking and tail: mean of their t, weighted by bytes. Awaited: J - U, with J the
//                last wait among them and U the length of the union of their [t, t + o): as much compute beside it as
//                there was.
//             3. Order. Phases are one line, but an awaited one has its room [start, J) for itself: awaited ones and
//                tails that would begin inside begin at J. A blocking phase that would follow a tail, or in the room of
//                an awaited one, of another group moves before it: communicators of different groups don't wait for
//                each other, and phases do. Of the same group it stays: one communicator works in order.
//             4. Wait. Only a blocking phase makes compute wait for the phases before it, so the last millionth of an
//                awaited one (at least a byte) is a blocking phase at J.
// Cost        O(steps log steps + phases^2).
// Guarantees  sums of bytes per (group, kind, forward or not) and the compute are those of the steps.
//             Alone (d_i linear in bytes), against the same steps with R = infinity:
//             blocking only       the same time: the clock stops for the same seconds, wherever that is
//             and tails, in groups that don't block
//                                 at most C/R longer or shorter: no start moves by more than a window
//             and awaited ones    one's slack may hide another's excess: shorter by at most the sum of the o merged,
//                                 not at all where they share one d/o
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "collective/collective_sequence.h"

namespace fairlead::collective {

struct SequencePhase {
  StepGroup group;
  CollectiveKind kind = CollectiveKind::kHierarchicalAllReduce;
  TrainingPass pass = TrainingPass::kForward;  // of its first step
  Bytes bytes;                                 // > 0
  double start_fraction = 0;                   // of the compute clock, [0, 1]
  bool blocks_compute = false;
  uint32_t num_collectives = 0;  // whose bytes they are; 0 of a wait, which is the end of another phase

  friend bool operator==(const SequencePhase&, const SequencePhase&) = default;
};

struct SequencePhases {
  Seconds compute;
  std::vector<SequencePhase> phases;  // start_fraction ascending
};

// Args: steps with numbers in range; num_rounds windows, 0 = merge nothing.
SequencePhases PlanSequencePhases(const std::vector<SequenceStep>& steps, uint32_t num_rounds);

}  // namespace fairlead::collective
