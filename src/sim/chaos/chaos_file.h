// A history of chaos as a file: what breaks, and when, so that it can be kept, shown and run again.
//
//     chaos:
//       seed: 42
//       hosts: 6
//       jobs: 3
//       faulty_for: 40 s
//       calm_for: 60 s
//       faults:
//         - {at: 12.500000000, kind: agent, target: 3, lasts: 1.200000000}
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "sim/chaos/chaos_run.h"

namespace fairlead::sim::chaos {

// What ReadChaosFile() reads: the same history.
std::string WriteChaosFile(const ChaosOptions& options);

// Errors: those of YamlDocument; kInvalidArgument with file:line for a key that is unknown, missing or out of range.
Result<ChaosOptions> LoadChaosFile(const std::string& path);
// `name` replaces the file in messages.
Result<ChaosOptions> ParseChaosFile(std::string_view text, const std::string& name);

}  // namespace fairlead::sim::chaos
