// The random draws of a comparison: the differences between runs of one policy.
//
// Draw 0 has the scenario's own seeds; draw i adds i to each seed that varies. All policies run on the same draws, so
// that the luck of a draw cancels out of their differences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace fairlead::sim {

// What may differ between draws.
struct VariedSeeds {
  bool hash = true;       // over which of equal paths ECMP sends a flow, and what policies draw themselves
  bool phase = true;      // when within an iteration each job begins
  bool placement = true;  // which hosts jobs get, where the placement policy draws

  // "hash", "phase", "placement": those that vary, in this order.
  std::vector<std::string> Names() const;
};

struct DrawSeeds {
  uint64_t hash = 1;
  uint64_t phase = 1;
  uint64_t placement = 1;
};

// The seeds of draw `draw`, where `first` are those of draw 0.
DrawSeeds SeedsOfDraw(const DrawSeeds& first, const VariedSeeds& varied, uint32_t draw);

// Errors: kInvalidArgument: an unknown name, a name that appears twice, or none at all.
Result<VariedSeeds> ParseVariedSeeds(const std::vector<std::string>& names);

}  // namespace fairlead::sim
