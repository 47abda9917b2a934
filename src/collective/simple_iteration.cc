#include "collective/simple_iteration.h"

#include <fmt/format.h>

#include <cmath>

#include "collective/phase_plan.h"

namespace fairlead::collective {
namespace {

Status RequireInRange(std::string_view name, double value, double max) {
  if (value >= 0 && value <= max) return OkStatus();  // false for NaN
  return InvalidArgument(fmt::format("simple iteration: {}: expected a number in [0, {}], found {}", name, max, value));
}

Status Validate(const SimpleIterationSpec& spec, const RankLayout& layout) {
  if (layout.ranks.empty()) return InvalidArgument("simple iteration: no GPUs");
  FL_RETURN_IF_ERROR(RequireInRange("compute time in seconds", spec.compute_time.value(), 1e9));
  FL_RETURN_IF_ERROR(RequireInRange("work in FLOP", spec.work.value(), 1e30));
  FL_RETURN_IF_ERROR(RequireInRange("size in bytes", spec.size.value(), 1e18));
  return RequireInRange("start fraction", spec.start_fraction, 1);
}

}  // namespace

Result<model::Iteration> BuildSimpleIteration(const SimpleIterationSpec& spec, const RankLayout& layout,
                                              FlopPerSecond gpu_peak) {
  FL_RETURN_IF_ERROR(Validate(spec, layout));
  model::Iteration iteration;
  iteration.compute_time = spec.compute_time;
  iteration.work = spec.work;
  if (spec.work == Flop(0)) {
    iteration.work = gpu_peak * spec.compute_time * static_cast<double>(layout.ranks.size());
  }
  LayOutPhases({{std::string(Name(spec.collective)), spec.start_fraction, spec.blocks_compute,
                 [&](FlowSet& flows) { AppendCollective(spec.collective, layout.ranks, spec.size, flows); }}},
               iteration);
  return iteration;
}

}  // namespace fairlead::collective
