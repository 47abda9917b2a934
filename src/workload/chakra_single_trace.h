// One Chakra trace that represents every rank.
//
// A process group of ranks {b, b + s, …} represents all groups of the same shape (StepGroup::kStrided); a send to the
// rank k away for sends by every rank to the one k away (kShifted). A message has two ends: it is counted where the
// trace receives it, because the receiver waits, and where it is only sent, there.
#pragma once

#include "base/status.h"
#include "collective/collective_sequence.h"
#include "workload/chakra_trace.h"

namespace fairlead::workload {

// Errors: kInvalidArgument: a group that no description names, or that does not tile the ranks; and those of
// ScheduleChakraTrace. Cost: that of ScheduleChakraTrace.
Result<collective::CollectiveSequence> SequenceOfOneTrace(const ChakraTrace& trace, const ChakraOptions& options);

}  // namespace fairlead::workload
