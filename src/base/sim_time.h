// The simulation clock: integer nanoseconds, so that equal histories have equal times and hashes on every machine.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>

#include "base/units.h"

namespace fairlead {

// A length of simulated time in nanoseconds. Range: about +-292 years.
class SimDuration {
 public:
  constexpr SimDuration() = default;
  constexpr explicit SimDuration(int64_t ns) : ns_(ns) {}

  // Rounds to the nearest nanosecond. `s` must be within +-9e9 s.
  static SimDuration FromSeconds(Seconds s) { return SimDuration(std::llround(s.value() * 1e9)); }

  constexpr int64_t ns() const { return ns_; }
  constexpr Seconds seconds() const { return Seconds(static_cast<double>(ns_) * 1e-9); }

  friend constexpr auto operator<=>(SimDuration, SimDuration) = default;
  friend constexpr SimDuration operator+(SimDuration a, SimDuration b) { return SimDuration(a.ns_ + b.ns_); }
  friend constexpr SimDuration operator-(SimDuration a, SimDuration b) { return SimDuration(a.ns_ - b.ns_); }
  friend constexpr SimDuration operator*(SimDuration a, int64_t k) { return SimDuration(a.ns_ * k); }
  friend constexpr int64_t operator/(SimDuration a, SimDuration b) { return a.ns_ / b.ns_; }
  constexpr SimDuration& operator+=(SimDuration b) {
    ns_ += b.ns_;
    return *this;
  }

 private:
  int64_t ns_ = 0;
};

// A point in simulated time, counted from the start of the simulation.
class SimTime {
 public:
  constexpr SimTime() = default;
  constexpr explicit SimTime(int64_t ns) : ns_(ns) {}

  static SimTime FromSeconds(Seconds s) { return SimTime(SimDuration::FromSeconds(s).ns()); }
  // Later than every real event.
  static constexpr SimTime Never() { return SimTime(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t ns() const { return ns_; }
  constexpr Seconds seconds() const { return Seconds(static_cast<double>(ns_) * 1e-9); }

  friend constexpr auto operator<=>(SimTime, SimTime) = default;
  friend constexpr SimTime operator+(SimTime t, SimDuration d) { return SimTime(t.ns_ + d.ns()); }
  friend constexpr SimTime operator-(SimTime t, SimDuration d) { return SimTime(t.ns_ - d.ns()); }
  friend constexpr SimDuration operator-(SimTime a, SimTime b) { return SimDuration(a.ns_ - b.ns_); }

 private:
  int64_t ns_ = 0;
};

}  // namespace fairlead
