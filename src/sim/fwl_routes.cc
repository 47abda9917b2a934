#include "sim/fwl_routes.h"

#include <algorithm>
#include <limits>

namespace fairlead::sim {

namespace {

// The links of one range, ascending, each with how often the range crosses it.
void CollectUses(const FwlWorkload& workload, const FwlFlowRange& range, std::vector<fluid::LinkUse>& uses) {
  uses.clear();
  for (uint32_t f = range.first; f < range.first + range.count; ++f) {
    for (uint32_t link : workload.RouteOf(workload.flows[f])) uses.push_back({link, 1});
  }
  std::sort(uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.link < b.link; });
  size_t last = 0;
  for (size_t i = 1; i < uses.size(); ++i) {
    if (uses[i].link == uses[last].link) {
      ++uses[last].multiplicity;
    } else {
      uses[++last] = uses[i];
    }
  }
  uses.resize(last + 1);
}

// Drops the links that `users` says are private and another one implies.
void DropImplied(const std::vector<uint8_t>& users, std::vector<fluid::LinkUse>& uses) {
  const auto is_shared = [&](const fluid::LinkUse& use) { return users[use.link] > 1; };
  uint32_t most_shared = 0;
  for (const fluid::LinkUse& use : uses) {
    if (is_shared(use)) most_shared = std::max(most_shared, use.multiplicity);
  }
  const auto tightest = std::max_element(uses.begin(), uses.end(), [&](const auto& a, const auto& b) {
    return (is_shared(a) ? 0 : a.multiplicity) < (is_shared(b) ? 0 : b.multiplicity);
  });
  const fluid::LinkUse kept = *tightest;
  const bool keeps_private = !is_shared(kept) && kept.multiplicity > most_shared;
  std::erase_if(
      uses, [&](const fluid::LinkUse& use) { return !is_shared(use) && !(keeps_private && use.link == kept.link); });
}

}  // namespace

FwlRoutes PlanFwlRoutes(const FwlWorkload& workload, std::span<const FwlFlowRange> ranges) {
  std::vector<fluid::LinkUse> uses;
  std::vector<uint8_t> users(workload.num_links, 0);  // ranges on a link: 0, 1, or more than 1
  for (const FwlFlowRange& range : ranges) {
    CollectUses(workload, range, uses);
    for (const fluid::LinkUse& use : uses) users[use.link] = static_cast<uint8_t>(std::min(users[use.link] + 1, 2));
  }

  constexpr uint32_t kUnnumbered = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> number(workload.num_links, kUnnumbered);
  FwlRoutes routes;
  routes.first_use.reserve(ranges.size() + 1);
  routes.first_use.push_back(0);
  for (const FwlFlowRange& range : ranges) {
    CollectUses(workload, range, uses);
    DropImplied(users, uses);
    for (fluid::LinkUse& use : uses) {
      if (number[use.link] == kUnnumbered) number[use.link] = routes.num_links++;
      use.link = number[use.link];
    }
    routes.uses.insert(routes.uses.end(), uses.begin(), uses.end());
    routes.first_use.push_back(static_cast<uint32_t>(routes.uses.size()));
  }
  return routes;
}

}  // namespace fairlead::sim
