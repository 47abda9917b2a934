#include "trace/cleaning_report.h"

#include "base/check.h"

namespace fairlead::trace {

namespace {

// Published counts: the data set's reference, sections 1, 3 and 5.
constexpr TrapText kTexts[] = {
    {Trap::kNeverRan, "job rows", "never ran", "dropped", 803},
    {Trap::kNoTimes, "job rows", "of these, without any time", "dropped", {}},
    {Trap::kStillRunning, "job rows", "still running", "dropped, or ended by option", 9},
    {Trap::kRanBeforeSubmitted, "job rows", "ran before submission", "dropped", 1},
    {Trap::kUnreadableTime, "job rows", "time is not Y/M/D HH:MM", "dropped", {}},
    {Trap::kEndedBeforeRunning, "job rows", "ended before it ran", "dropped", {}},
    {Trap::kDuplicateJob, "job rows", "name or id came before", "dropped", {}},
    {Trap::kStoppedNotFinished, "job rows", "stopped, not finished", "stop time taken", {}},
    {Trap::kZeroMinutes, "job rows", "ran under a minute", "kept, least run time", {}},
    {Trap::kDeleted, "job rows", "is_deleted", "kept", {}},
    {Trap::kEmptyModel, "job rows", "no label", "kept as 'unknown'", {}},
    {Trap::kJobWithoutPods, "job rows", "no usable pod", "kept, without GPUs", {}},
    {Trap::kTooLarge, "jobs", "something out of range", "dropped", {}},
    {Trap::kPodWithoutTime, "pods", "no start or no end", "GPUs counted", 28},
    {Trap::kPodWithoutDuration, "pods", "no duration", "GPUs counted, or dropped", 946},
    {Trap::kPodOnUnknownHost, "pods", "host not in topo.csv", "kept", 3249},
    {Trap::kJobOnUnknownHost, "jobs", "with such a pod", "kept", {}},
    {Trap::kPodWithoutResources, "pods", "no RES", "dropped", 5},
    {Trap::kPodUnreadableResources, "pods", "RES can't be read", "dropped", {}},
    {Trap::kPodsWithoutJobKept, "jobs", "not in job.csv, with times", "kept, model 'unknown'", 243},
    {Trap::kPodsWithoutJobDropped, "jobs", "not in job.csv, no times", "dropped", {}},
};
static_assert(std::size(kTexts) == kNumTraps);

}  // namespace

std::span<const TrapText> TrapTexts() { return kTexts; }

void CleaningReport::Add(Trap trap, std::string_view where) {
  const auto i = static_cast<size_t>(trap);
  FL_DCHECK(kTexts[i].trap == trap);
  if (counts[i]++ == 0) examples[i] = where;
}

}  // namespace fairlead::trace
