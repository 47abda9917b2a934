// The cases that both simulators run.
#pragma once

#include <cstdint>
#include <vector>

#include "experiments/packet-level/twin_case.h"

namespace fairlead::experiments::packet_level {

struct CaseFamily {
  std::string name;
  double goal = 0;              // greatest mean error of the times of messages, %; 0: none
  std::vector<TwinCase> draws;  // of paths; one where none are drawn
};

// Args: num_draws: of hashed paths and partners. reduced: fewer bytes.
std::vector<CaseFamily> AllCases(uint64_t seed, uint32_t num_draws, bool reduced);

}  // namespace fairlead::experiments::packet_level
