// Instants of the simulated job: nanoseconds as plain integers, in which "never" is a value that additions keep.
//
// A simulated job is a recursion of maxima and sums. With an infinity in it, a message that waits for a dead rank needs
// no special case: its instants come out as never, and everything that depends on it, too.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/sim_time.h"

namespace fairlead::execution {

using Instant = int64_t;  // ns

// 36 years. Durations added to it leave it never, and are much too short to make it overflow.
inline constexpr Instant kNever = Instant{1} << 60;

constexpr bool IsNever(Instant t) { return t >= kNever; }
constexpr Instant ToInstant(SimTime t) { return t.ns() < kNever ? t.ns() : kNever; }
constexpr SimTime ToSimTime(Instant t) { return IsNever(t) ? SimTime::Never() : SimTime(t); }
inline Instant Scaled(SimDuration duration, double factor) {
  return static_cast<Instant>(std::llround(static_cast<double>(duration.ns()) * factor));
}

}  // namespace fairlead::execution
