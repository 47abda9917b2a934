// What re-plans have changed for jobs that ran before and after them: the cost of control.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "controller/cluster_controller.h"
#include "sim/run_result.h"

namespace fairlead::sim {

class ControlLog {
 public:
  // What came of events that the controller has handled. Args: counters before and after it did.
  void NotePlan(SimTime now, std::span<const controller::Event> events, std::span<const controller::Action> actions,
                const controller::ControlCounters& before, const controller::ControlCounters& after);
  // What a live cluster has changed by itself.
  void NoteLive(const ControlChange& change);

  // Of live changes only: the controller counts its own.
  const controller::ControlCounters& live_counters() const { return live_counters_; }
  // By time; only those that changed something.
  std::vector<ControlChange> Take() { return std::exchange(changes_, {}); }

 private:
  void Add(const ControlChange& change);

  std::vector<ControlChange> changes_;
  controller::ControlCounters live_counters_;
};

}  // namespace fairlead::sim
