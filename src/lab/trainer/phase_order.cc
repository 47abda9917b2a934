#include "lab/trainer/phase_order.h"

#include <numeric>
#include <utility>

namespace fairlead::lab {

void PhaseOrder::Begin(uint64_t iteration, bool is_wrong) {
  iteration_ = iteration;
  order_.resize(plan_.phases.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::vector<size_t> talking;
  for (const size_t p : order_) {
    if (!plan_.phases[p].streams.empty()) talking.push_back(p);
  }
  is_wrong_ = is_wrong && talking.size() >= 2;
  if (!is_wrong_) return;
  std::swap(order_[talking[0]], order_[talking[1]]);
  wrong_plan_ = plan_;
  for (const size_t p : {talking[0], talking[1]}) {
    wrong_plan_.phases[p] = plan_.phases[order_[p]];
    wrong_plan_.phases[p].start_fraction = plan_.phases[p].start_fraction;
    wrong_plan_.phases[p].blocks_compute = plan_.phases[p].blocks_compute;
  }
}

}  // namespace fairlead::lab
