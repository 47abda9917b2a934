#include "traffic/c4p/imbalance_watch.h"

namespace fairlead::traffic::c4p {

bool ImbalanceWatch::Look(SimTime now, const std::function<double()>& measure) {
  if (has_changed_ && now >= next_measurement_) {
    imbalance_ = measure();
    has_changed_ = false;
    next_measurement_ = now + period_;
  }
  if (imbalance_ <= limit_) {
    uneven_since_.reset();
    return false;
  }
  if (!uneven_since_) uneven_since_ = now;
  return now - *uneven_since_ >= duration_;
}

void ImbalanceWatch::NoteBalanced() {
  uneven_since_.reset();
  imbalance_ = 1;
  has_changed_ = false;
}

}  // namespace fairlead::traffic::c4p
