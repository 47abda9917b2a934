// A process on virtual time: what it does later dies with it, and waits while it is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/sim_time.h"
#include "sim/hosts/event_queue.h"

namespace fairlead::sim::hosts {

class VirtualProcess {
 public:
  // `queue` must outlive this.
  explicit VirtualProcess(EventQueue* queue) : queue_(*queue) {}

  bool is_alive() const { return is_alive_; }
  bool is_running() const { return is_alive_ && !is_stopped_; }
  SimTime running_since() const { return running_since_; }  // while it runs
  // Each start is another process.
  uint64_t incarnation() const { return incarnation_; }
  bool Is(uint64_t incarnation) const { return is_alive_ && incarnation_ == incarnation; }

  void Start();
  void Kill();
  void Stop() { is_stopped_ = true; }
  // Does what was due meanwhile. Returns whether it was stopped, and is alive after that.
  bool Continue();
  // Args: delay >= 0.
  void After(SimDuration delay, std::function<void()> work);

 private:
  EventQueue& queue_;
  uint64_t incarnation_ = 0;
  bool is_alive_ = false;
  bool is_stopped_ = false;
  SimTime running_since_;
  std::vector<std::function<void()>> suspended_;  // work that was due while it was stopped
};

}  // namespace fairlead::sim::hosts
