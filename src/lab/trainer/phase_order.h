// In which order a worker does the phases of its plan. A fault of a trainer's program is to have them in another order
// than its peers: the first two that communicate change places, each at the other one's time.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/trainer/trainer_plan.h"

namespace fairlead::lab {

class PhaseOrder {
 public:
  // `plan` must outlive it.
  explicit PhaseOrder(const TrainerPlan& plan) : plan_(plan) {}

  // The next iteration. Cost: O(phases).
  void Begin(uint64_t iteration, bool is_wrong);

  uint64_t iteration() const { return iteration_; }
  const TrainerPlan& plan() const { return is_wrong_ ? wrong_plan_ : plan_; }  // of this iteration
  // The phase of the worker's own plan that is done at this place.
  size_t operator[](size_t place) const { return order_[place]; }
  // Of all phases since the first iteration's first. Args: place: at most the number of phases, which is the end.
  uint64_t NumberAt(size_t place) const {
    return iteration_ * order_.size() + (place < order_.size() ? order_[place] : place);
  }

 private:
  const TrainerPlan& plan_;
  uint64_t iteration_ = 0;
  std::vector<size_t> order_;  // [place] phase of the plan
  bool is_wrong_ = false;
  TrainerPlan wrong_plan_;
};

}  // namespace fairlead::lab
