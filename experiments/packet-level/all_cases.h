// The cases that both simulators run.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/packet-level/case_parts.h"

namespace fairlead::experiments::packet_level {

// Args: num_draws: of hashed paths and partners. reduced: fewer bytes.
std::vector<CaseFamily> AllCases(uint64_t seed, uint32_t num_draws, bool reduced);

}  // namespace fairlead::experiments::packet_level
