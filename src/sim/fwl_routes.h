// The routes of the flows that an fwl workload puts on the fluid network, without links that can't matter.
//
// All links have one capacity C. A link that only one flow crosses, m times, says m x rate <= C. Any other link that
// the flow crosses at least m times says so too, so the first one is left out: in rings on hosts of their own that is
// every NIC link, half of all. Leaving out an implied bound changes no rate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fluid/flow_table.h"
#include "sim/fwl_workload.h"

namespace fairlead::sim {

// Flows of the workload that move together: a ring in coupled detail, else a single one.
struct FwlFlowRange {
  uint32_t first = 0;  // index into FwlWorkload::flows
  uint32_t count = 1;
};

struct FwlRoutes {
  uint32_t num_links = 0;            // that are left; numbered in order of first use
  std::vector<uint32_t> first_use;   // [range], one more at the end
  std::vector<fluid::LinkUse> uses;  // each link once per range

  std::span<const fluid::LinkUse> RouteOf(size_t range) const {
    return {uses.data() + first_use[range], uses.data() + first_use[range + 1]};
  }
};

// Every range keeps at least one link. Cost: O(route links), times log of the largest range in coupled detail.
FwlRoutes PlanFwlRoutes(const FwlWorkload& workload, std::span<const FwlFlowRange> ranges);

}  // namespace fairlead::sim
