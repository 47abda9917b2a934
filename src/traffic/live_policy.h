// The policies of running jobs by name: which of the controller's decisions are carried out. The same name does the
// same in the simulator.
//
//     ecmp           none         paths are those of the fabric's hash, all jobs on one level
//     c4p            paths        of C4P's master
//     crux-levels    priorities   levels of Crux on hashed paths, which probes find out
//     crux+c4p       both: levels only where an order helps, as in the simulator (traffic/crux/order_gain.h)
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "traffic/crux/crux_options.h"
#include "traffic/traffic_policy.h"

namespace fairlead::traffic {

// Levels that agents can tell switches apart: by traffic classes (agent/job_levels.h).
inline constexpr uint32_t kNumLiveLevels = 8;

struct LivePolicy {
  std::string_view name;
  std::string_view decides;  // "paths"
  bool chooses_paths = true;
  bool sets_levels = true;
  crux::EdgeWeight edge_weight = crux::EdgeWeight::kIntensity;
};

// In the order people should see them.
std::span<const LivePolicy> LivePolicies();
std::vector<std::string_view> LivePolicyNames();

// Errors: kNotFound for an unknown name, listing the known ones.
Result<LivePolicy> FindLivePolicy(std::string_view name);

// What orders jobs on the paths that they have. Thread: as the policy.
std::unique_ptr<TrafficPolicy> CreateLevelPolicy(const LivePolicy& policy);

}  // namespace fairlead::traffic
