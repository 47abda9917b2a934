// Steady time: a clock that only moves on, in steps of bounded size, made of one that may jump.
//
// Backwards, the other clock was set: no time has passed. A jump far ahead means that it was set or this process was
// stopped, and messages from all others waited: that counts as `max_step`, so that none is declared dead because of our
// own pause. A caller that asks at least every `max_step` sees the true time. Time always moves on in the end, however
// often the clock jumps; a rule that restarted all deadlines after each jump could postpone them forever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "base/sim_time.h"

namespace fairlead::traffic {

class SteadyTime {
 public:
  // Args: max_step > 0.
  explicit SteadyTime(SimDuration max_step) : max_step_(max_step) { FL_CHECK(max_step > SimDuration(0)); }

  // Time since the first call. Args: the other clock, now.
  SimTime Advance(SimTime clock) {
    // In unsigned numbers: the two may be further apart than the range of a duration.
    const SimTime before = clock_.value_or(clock);
    const uint64_t step =
        clock > before ? static_cast<uint64_t>(clock.ns()) - static_cast<uint64_t>(before.ns()) : uint64_t{0};
    const auto limit = static_cast<uint64_t>(max_step_.ns());
    if (clock < before) ++num_jumps_back_;
    if (step > limit) ++num_jumps_ahead_;
    clock_ = clock;
    now_ = now_ + SimDuration(static_cast<int64_t>(std::min(step, limit)));
    return now_;
  }

  SimTime now() const { return now_; }
  // The other clock, at the last call; zero before.
  SimTime clock() const { return clock_.value_or(SimTime()); }
  uint64_t num_jumps_back() const { return num_jumps_back_; }
  uint64_t num_jumps_ahead() const { return num_jumps_ahead_; }

 private:
  SimDuration max_step_;
  std::optional<SimTime> clock_;
  SimTime now_;
  uint64_t num_jumps_back_ = 0;
  uint64_t num_jumps_ahead_ = 0;
};

}  // namespace fairlead::traffic
