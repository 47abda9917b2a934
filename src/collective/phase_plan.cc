#include "collective/phase_plan.h"

#include <algorithm>

namespace fairlead::collective {

void LayOutPhases(std::vector<PhasePlan> plans, model::Iteration& iteration) {
  std::stable_sort(plans.begin(), plans.end(),
                   [](const PhasePlan& a, const PhasePlan& b) { return a.start_fraction < b.start_fraction; });
  FlowSet set;
  for (PhasePlan& plan : plans) {
    const auto first_flow = static_cast<uint32_t>(set.flows.size());
    set.num_steps = 0;
    plan.append_flows(set);
    const auto num_flows = static_cast<uint32_t>(set.flows.size()) - first_flow;
    if (num_flows == 0) continue;
    iteration.phases.push_back({.name = std::move(plan.name),
                                .start_fraction = plan.start_fraction,
                                .blocks_compute = plan.blocks_compute,
                                .first_flow = first_flow,
                                .num_flows = num_flows,
                                .num_steps = set.num_steps * plan.num_repeats});
  }
  iteration.flows = std::move(set.flows);
  iteration.num_groups = set.num_groups;
}

}  // namespace fairlead::collective
