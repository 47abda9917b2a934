#include "traffic/live_policy.h"

#include <fmt/format.h>

#include <string>

#include "base/nearest_word.h"
#include "traffic/policy_registry.h"

namespace fairlead::traffic {
namespace {

constexpr LivePolicy kLivePolicies[] = {
    {.name = "ecmp", .decides = "none", .chooses_paths = false, .sets_levels = false},
    {.name = "c4p", .decides = "paths", .chooses_paths = true, .sets_levels = false},
    {.name = "crux-levels", .decides = "priorities", .chooses_paths = false, .sets_levels = true},
    {.name = "crux+c4p",
     .decides = "both",
     .chooses_paths = true,
     .sets_levels = true,
     .edge_weight = crux::EdgeWeight::kGain},
};

}  // namespace

std::span<const LivePolicy> LivePolicies() { return kLivePolicies; }

std::vector<std::string_view> LivePolicyNames() {
  std::vector<std::string_view> names;
  for (const LivePolicy& policy : kLivePolicies) names.push_back(policy.name);
  return names;
}

Result<LivePolicy> FindLivePolicy(std::string_view name) {
  for (const LivePolicy& policy : kLivePolicies) {
    if (policy.name == name) return policy;
  }
  return NotFound(UnknownName("policy for running jobs", name, LivePolicyNames()));
}

std::unique_ptr<TrafficPolicy> CreateLevelPolicy(const LivePolicy& policy) {
  PolicyOptions options;
  options.crux.edge_weight = policy.edge_weight;
  return CreatePolicy("crux-levels", options).value();
}

}  // namespace fairlead::traffic
