// The sending rate of one connection under DCQCN: cut when marks come back, and recovered by a timer.
//
// Method      a cut, at most one each decrease_interval: target = rate, rate *= 1 - alpha/2. Every alpha_timer alpha
//             moves by gain towards 1 if there was a mark since the last time, else towards 0. Every increase_timer
//             rate = (rate + target)/2; after recovery_rounds of these the target grows, too. Nothing happens before
//             the first mark: a connection starts at line rate, as NICs do.
// Cost        O(1) a call, and a timer is only looked at when the connection does something.
// Differs     no byte counter: the recovery of today's NICs is by timer only. fluid/dcqcn_simulation.h steps the
//             published algorithm, with both.
// Reference   Zhu et al., SIGCOMM 2015, Algorithm 1; defaults of a public packet-level simulator for 100 Gb/s.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fairlead::packet {

// Rates in bytes/s, times in picoseconds.
struct RateControlOptions {
  double gain = 1.0 / 256;                // larger: alpha follows marks faster
  int64_t alpha_timer = 1'000'000;        // longer: alpha forgets more slowly, cuts are deeper
  int64_t decrease_interval = 4'000'000;  // longer: fewer cuts
  int64_t increase_timer = 900'000'000;   // longer: slower recovery
  uint32_t recovery_rounds = 1;
  double additive_increase = 50e6 / 8;
  double hyper_increase = 100e6 / 8;  // after recovery_rounds more
  double least_rate = 100e6 / 8;
};

class RateControl {
 public:
  RateControl(double line_rate, const RateControlOptions& options)
      : options_(options), line_rate_(line_rate), rate_(line_rate), target_(line_rate) {}

  double rate() const { return rate_; }
  double alpha() const { return alpha_; }

  // Brings the timers up to `now`; times of calls never go back.
  void AdvanceTo(int64_t now) {
    if (!was_marked_) return;
    while (std::min(next_alpha_, next_increase_) <= now) {
      if (next_alpha_ <= next_increase_) {
        TickAlpha();
      } else {
        Increase();
      }
    }
  }

  // As much later, everything is as it is now.
  void ShiftBy(int64_t span) {
    next_alpha_ += span;
    next_increase_ += span;
    last_cut_ += span;
  }

  // An acknowledgement says that its packet was marked.
  void OnMark(int64_t now) {
    if (!was_marked_) {
      was_marked_ = true;
      next_alpha_ = now + options_.alpha_timer;
      next_increase_ = now + options_.increase_timer;
    }
    AdvanceTo(now);
    marked_since_tick_ = true;
    if (has_cut_ && now < last_cut_ + options_.decrease_interval) return;
    has_cut_ = true;
    last_cut_ = now;
    target_ = rate_;
    rate_ = std::max(options_.least_rate, rate_ * (1 - alpha_ / 2));
    rounds_ = 0;
    next_increase_ = now + options_.increase_timer;
  }

 private:
  void TickAlpha() {
    next_alpha_ += options_.alpha_timer;
    alpha_ += options_.gain * ((marked_since_tick_ ? 1 : 0) - alpha_);
    marked_since_tick_ = false;
  }
  void Increase() {
    next_increase_ += options_.increase_timer;
    ++rounds_;
    if (rounds_ > 2 * options_.recovery_rounds) {
      target_ += options_.hyper_increase;
    } else if (rounds_ > options_.recovery_rounds) {
      target_ += options_.additive_increase;
    }
    target_ = std::min(target_, line_rate_);
    rate_ = (rate_ + target_) / 2;
  }

  RateControlOptions options_;
  double line_rate_;
  double rate_;
  double target_;
  double alpha_ = 1;
  uint32_t rounds_ = 0;  // of recovery, since the last cut
  int64_t next_alpha_ = 0;
  int64_t next_increase_ = 0;
  int64_t last_cut_ = 0;
  bool was_marked_ = false;
  bool has_cut_ = false;
  bool marked_since_tick_ = false;
};

}  // namespace fairlead::packet
