#include "sim/elastic/node_failures.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace fairlead::sim {

std::vector<NodeEvent> DrawNodeFailures(uint32_t num_nodes, const NodeFailureOptions& options) {
  std::vector<NodeEvent> events;
  for (uint32_t node = 0; node < num_nodes; ++node) {
    Random random(CombineHash(options.seed, node));
    const auto next = [&](double from_s) { return from_s - options.mean_between_s * std::log1p(-random.Uniform()); };
    for (double at_s = next(0); at_s < options.end_s; at_s = next(at_s + options.repair_s)) {
      events.push_back({at_s, HostId(node), false});
      events.push_back({at_s + options.repair_s, HostId(node), true});
    }
  }
  std::ranges::stable_sort(events, {}, &NodeEvent::time_s);
  return events;
}

}  // namespace fairlead::sim
