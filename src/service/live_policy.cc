#include "service/live_policy.h"

#include <fmt/format.h>

#include <string>

#include "traffic/policy_registry.h"

namespace fairlead::service {
namespace {

constexpr LivePolicy kPolicies[] = {
    {.name = "ecmp", .decides = "none", .chooses_paths = false, .sets_levels = false},
    {.name = "c4p", .decides = "paths", .chooses_paths = true, .sets_levels = false},
    {.name = "crux-levels", .decides = "priorities", .chooses_paths = false, .sets_levels = true},
    {.name = "crux+c4p",
     .decides = "both",
     .chooses_paths = true,
     .sets_levels = true,
     .edge_weight = traffic::crux::EdgeWeight::kGain},
};

}  // namespace

std::span<const LivePolicy> LivePolicies() { return kPolicies; }

Result<LivePolicy> FindLivePolicy(std::string_view name) {
  std::string known;
  for (const LivePolicy& policy : kPolicies) {
    if (policy.name == name) return policy;
    known += fmt::format("{}{} ({})", known.empty() ? "" : ", ", policy.name, policy.decides);
  }
  return NotFound(fmt::format("policy '{}': running jobs have no such policy; known: {}", name, known));
}

std::unique_ptr<traffic::TrafficPolicy> CreateLevelPolicy(const LivePolicy& policy) {
  traffic::PolicyOptions options;
  options.crux.edge_weight = policy.edge_weight;
  return traffic::CreatePolicy("crux-levels", options).value();
}

}  // namespace fairlead::service
