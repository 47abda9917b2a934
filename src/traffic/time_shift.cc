#include "traffic/time_shift.h"

namespace fairlead::traffic {
namespace {

// The instant that an iteration which began at `start` belongs to: the one before, or one that it was early for by no
// more than the tolerance.
SimTime SlotOf(const TimeShift& shift, SimTime start) {
  const int64_t late_ns = shift.NsAfterGrid(start);
  const int64_t early_ns = shift.period.ns() - late_ns;
  return early_ns <= shift.tolerance.ns() ? start + SimDuration(early_ns) : start - SimDuration(late_ns);
}

SimDuration WaitForFirst(const TimeShift& shift, SimTime now) {
  const int64_t late_ns = shift.NsAfterGrid(now);
  const int64_t early_ns = shift.period.ns() - late_ns;
  return SimDuration(std::min(late_ns, early_ns) <= shift.tolerance.ns() ? 0 : early_ns);
}

SimDuration WaitForSlot(const TimeShift& shift, SimTime last_start, SimTime now) {
  const SimTime next = SlotOf(shift, last_start) + shift.period;
  return std::max(next - now, SimDuration(0));
}

// An iteration that took longer than a period lacked bandwidth: what looks like earliness then is lateness.
SimDuration WaitForDrift(const TimeShift& shift, const ShiftProgress& progress, SimTime last_start, SimTime now) {
  if (progress.iterations < TimeShift::kIterationsBetweenWaits) return SimDuration(0);
  if (now - last_start > shift.period + shift.tolerance) return SimDuration(0);
  const int64_t early_ns = shift.period.ns() - shift.NsAfterGrid(now);
  const bool is_early = early_ns > shift.tolerance.ns() && early_ns <= shift.period.ns() / 2;
  return SimDuration(is_early ? early_ns : 0);
}

}  // namespace

SimDuration WaitOfStart(const TimeShift& shift, const ShiftProgress& progress, SimTime last_start, SimTime now) {
  if (!progress.is_aligned) return WaitForFirst(shift, now);
  switch (shift.upkeep) {
    case ShiftUpkeep::kEverySlot:
      return WaitForSlot(shift, last_start, now);
    case ShiftUpkeep::kDrift:
      return WaitForDrift(shift, progress, last_start, now);
    case ShiftUpkeep::kNever:
      break;
  }
  return SimDuration(0);
}

}  // namespace fairlead::traffic
