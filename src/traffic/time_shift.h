// Time shifts: when the iterations of a job shall begin, so that its bursts fall into the gaps of others.
//
// A shift is carried out by waiting, and only by a job that is early: one that is late begins at once, since waiting
// for its next instant would cost it up to a whole period and gain nobody anything. Lateness comes from a lack of
// bandwidth; it passes where the shifts fit.
// Reference   Rajasekaran et al., CASSINI, NSDI 2024: shifts are applied once, and corrected where iterations drift.
//             The authors' simulator releases a block that is past its offset immediately.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/sim_time.h"

namespace fairlead::traffic {

// How a job keeps to its instants once it has begun at one of them.
enum class ShiftUpkeep : uint8_t {
  kEverySlot,  // each instant belongs to one iteration, which does not begin before it: a slower, regular pace
  kDrift,      // iterations follow at once; one that has come to begin too early waits, seldom
  kNever,      // iterations follow one another at once
};

// Iterations shall begin at instants that are `offset` modulo `period`. The first one under a shift waits for the next
// such instant; what comes after is up to `upkeep`.
struct TimeShift {
  // With kDrift a job waits again after this many iterations at the earliest.
  static constexpr uint32_t kIterationsBetweenWaits = 10;

  SimDuration period;  // > 0
  SimDuration offset;  // 0 <= offset < period, from time 0 of the cluster's clock
  // How far from its instant an iteration may begin without a correction; less than half of the period.
  SimDuration tolerance;
  ShiftUpkeep upkeep = ShiftUpkeep::kEverySlot;

  // How long after the last of these instants `t` is, in nanoseconds; 0 <= result < period.
  int64_t NsAfterGrid(SimTime t) const {
    const int64_t rest = (t.ns() - offset.ns()) % period.ns();
    return rest < 0 ? rest + period.ns() : rest;
  }

  friend bool operator==(const TimeShift&, const TimeShift&) = default;
};

// How far a job is with its shift.
struct ShiftProgress {
  bool is_aligned = false;  // an iteration has begun under it
  // Ended since the last wait, counted up to TimeShift::kIterationsBetweenWaits.
  uint32_t iterations = 0;

  void CountIteration() { iterations = std::min(iterations + 1, TimeShift::kIterationsBetweenWaits); }
};

// How long an iteration that could begin `now` shall wait; 0: it begins.
// Args     last_start: of the iteration before; meaningless when the job is not aligned.
// Returns  less than a period after the first start; with kEverySlot at most a period after the instant of the last
//          iteration, with kDrift at most half a period.
SimDuration WaitOfStart(const TimeShift& shift, const ShiftProgress& progress, SimTime last_start, SimTime now);

}  // namespace fairlead::traffic
