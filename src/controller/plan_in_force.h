// What a job was last told of its traffic, and how a new plan differs from that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "traffic/traffic_policy.h"

namespace fairlead::controller {

class PlanInForce {
 public:
  struct Change {
    bool is_news = false;        // the job has to be told something
    uint64_t num_moved = 0;      // flows that take other paths than before; 0 for a first plan
    bool is_relevelled = false;  // likewise
  };

  // Puts a plan in force. Args: as many paths as the one before has.
  Change Adopt(traffic::JobPlan plan) {
    Change change = {.is_news = !is_planned_};
    if (is_planned_) {
      for (size_t f = 0; f < plan.paths.size(); ++f) change.num_moved += plan.paths[f] != plan_.paths[f] ? 1 : 0;
      change.is_relevelled = plan.level != plan_.level;
      const bool same_reason = plan.reason == plan_.reason && plan.priority_rank == plan_.priority_rank;
      const bool same_timing = plan.time_shift == plan_.time_shift && plan.balances_shares == plan_.balances_shares &&
                               plan.senders == plan_.senders;
      change.is_news = change.num_moved > 0 || change.is_relevelled || !same_timing || !same_reason;
    }
    is_planned_ = true;
    if (change.is_news) plan_ = std::move(plan);
    return change;
  }

  bool is_planned() const { return is_planned_; }
  const traffic::JobPlan& plan() const { return plan_; }  // before the first one: no paths, level 0

 private:
  bool is_planned_ = false;
  traffic::JobPlan plan_;
};

}  // namespace fairlead::controller
