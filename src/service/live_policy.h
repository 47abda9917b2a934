// The policies of running jobs by name: which of the controller's decisions are carried out. The same name does the
// same in the simulator.
//
//     ecmp           none         paths are those of the fabric's hash, all jobs on one level
//     c4p            paths        of C4P's master
//     crux-levels    priorities   levels of Crux on hashed paths, which probes find out
//     crux+c4p       both
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"

namespace fairlead::service {

struct LivePolicy {
  std::string_view name;
  std::string_view decides;  // "paths"
  bool chooses_paths = true;
  bool sets_levels = true;
};

// What orders jobs where levels are set.
inline constexpr std::string_view kLevelPolicy = "crux-levels";

// In the order people should see them.
std::span<const LivePolicy> LivePolicies();

// Errors: kNotFound for an unknown name, listing the known ones.
Result<LivePolicy> FindLivePolicy(std::string_view name);

}  // namespace fairlead::service
