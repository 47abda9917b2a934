#include "sim/scenario_draws.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fairlead::sim {

std::vector<std::string> VariedSeeds::Names() const {
  std::vector<std::string> names;
  if (hash) names.emplace_back("hash");
  if (phase) names.emplace_back("phase");
  if (placement) names.emplace_back("placement");
  return names;
}

DrawSeeds SeedsOfDraw(const DrawSeeds& first, const VariedSeeds& varied, uint32_t draw) {
  DrawSeeds seeds = first;
  if (varied.hash) seeds.hash += draw;
  if (varied.phase) seeds.phase += draw;
  if (varied.placement) seeds.placement += draw;
  return seeds;
}

Result<VariedSeeds> ParseVariedSeeds(const std::vector<std::string>& names) {
  VariedSeeds varied{.hash = false, .phase = false, .placement = false};
  for (const std::string& name : names) {
    bool* seed = name == "hash"        ? &varied.hash
                 : name == "phase"     ? &varied.phase
                 : name == "placement" ? &varied.placement
                                       : nullptr;
    if (seed == nullptr) {
      return InvalidArgument(fmt::format("'{}' cannot vary between draws; expected hash, phase or placement", name));
    }
    if (*seed) return InvalidArgument(fmt::format("{} appears twice among what varies; expected each once", name));
    *seed = true;
  }
  if (names.empty()) return InvalidArgument("nothing varies between draws; expected hash, phase or placement");
  return varied;
}

}  // namespace fairlead::sim
