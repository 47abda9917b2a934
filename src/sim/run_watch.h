// Lets a caller watch a long run, and stop it: consulted every few thousand events.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/sim_time.h"

namespace fairlead::sim {

class RunWatch {
 public:
  // Called now and then with the fraction of the run that is done, 0..1, never going back.
  using Progress = std::function<void(double)>;

  // `stop` must outlive the watch; `progress` may be empty.
  RunWatch(const std::atomic<bool>& stop, Progress progress) : stop_(&stop), progress_(std::move(progress)) {}

  // What is simulated next, from instant `begin` to `end`, is the part of the run from fraction `from` to `to`.
  void SetScope(SimTime begin, SimTime end, double from, double to) {
    begin_ = begin;
    end_ = end;
    from_ = from;
    to_ = to;
  }

  // Once an event. True when the run is to end.
  bool ShouldStop(SimTime now) {
    if (++num_events_ % kEventsBetweenLooks == 0) Look(now);
    return is_stopped_;
  }
  // Looks at once.
  bool Look(SimTime now) {
    is_stopped_ = is_stopped_ || stop_->load(std::memory_order_relaxed);
    const double share = end_ > begin_ ? (now - begin_).seconds() / (end_ - begin_).seconds() : 1;
    reached_ = std::max(reached_, from_ + (to_ - from_) * std::clamp(share, 0.0, 1.0));
    if (progress_) progress_(reached_);
    return is_stopped_;
  }
  bool is_stopped() const { return is_stopped_; }
  // Fraction of the run that was last reported.
  double reached() const { return reached_; }

 private:
  static constexpr uint64_t kEventsBetweenLooks = 4096;

  const std::atomic<bool>* stop_;
  Progress progress_;
  SimTime begin_;
  SimTime end_;
  double from_ = 0;
  double to_ = 0;
  double reached_ = 0;
  uint64_t num_events_ = 0;
  bool is_stopped_ = false;
};

}  // namespace fairlead::sim
