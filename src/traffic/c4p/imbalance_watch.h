// Have the loads of links been uneven for so long that queue pairs should move for it?
#pragma once

#include <functional>
#include <optional>

#include "base/sim_time.h"
#include "traffic/c4p/c4p_options.h"

namespace fairlead::traffic::c4p {

class ImbalanceWatch {
 public:
  // Args: options: imbalance_limit, imbalance_period and imbalance_duration count; valid.
  explicit ImbalanceWatch(const C4pOptions& options)
      : limit_(options.imbalance_limit), period_(options.imbalance_period), duration_(options.imbalance_duration) {}

  // Loads have changed since they were measured last.
  void NoteChange() { has_changed_ = true; }

  // Calls `measure`, the greatest load over the mean, after a change, but at most once a period. Returns whether it has
  // been over the limit for the duration.
  bool Look(SimTime now, const std::function<double()>& measure);
  // Loads were evened out: what is left can't be helped until something changes.
  void NoteBalanced();

 private:
  double limit_;
  SimDuration period_;
  SimDuration duration_;
  bool has_changed_ = false;
  double imbalance_ = 1;
  std::optional<SimTime> uneven_since_;
  SimTime next_measurement_;
};

}  // namespace fairlead::traffic::c4p
