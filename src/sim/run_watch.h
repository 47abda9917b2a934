// Lets somebody watch a long run, and stop it: looked at every few thousand events.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/sim_time.h"

namespace fairlead::sim {

class RunWatch {
 public:
  // Called now and then with a simulated instant that the run has reached somewhere. Need not be monotonic.
  using Progress = std::function<void(SimTime)>;

  // `stop` must outlive the watch; `progress` may be empty.
  RunWatch(const std::atomic<bool>& stop, Progress progress) : stop_(&stop), progress_(std::move(progress)) {}

  // Once an event. True when the run is to end.
  bool ShouldStop(SimTime now) {
    if (++num_events_ % kEventsBetweenLooks == 0) Look(now);
    return is_stopped_;
  }
  // Looks at once.
  bool Look(SimTime now) {
    is_stopped_ = is_stopped_ || stop_->load(std::memory_order_relaxed);
    if (progress_) progress_(now);
    return is_stopped_;
  }
  bool is_stopped() const { return is_stopped_; }

 private:
  static constexpr uint64_t kEventsBetweenLooks = 4096;

  const std::atomic<bool>* stop_;
  Progress progress_;
  uint64_t num_events_ = 0;
  bool is_stopped_ = false;
};

}  // namespace fairlead::sim
