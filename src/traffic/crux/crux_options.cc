#include "traffic/crux/crux_options.h"

#include <fmt/format.h>

namespace fairlead::traffic::crux {

CruxOptions PrioritiesOnly(CruxOptions options) {
  options.select_paths = false;
  options.compress = false;
  return options;
}

CruxOptions LevelsOnly(CruxOptions options) {
  options.select_paths = false;
  options.compress = true;
  return options;
}

CruxOptions PathsAndPriorities(CruxOptions options) {
  options.select_paths = true;
  options.compress = false;
  return options;
}

CruxOptions Guarded(CruxOptions options) {
  options.starvation_guard = Seconds(20);
  return options;
}

// Losses count only beside intensity: a job of a thousandth of the others' may stay last at any loss.
CruxOptions Fair(CruxOptions options) {
  options.fairness = 0.5;
  return Guarded(options);
}

Status CruxOptions::Validate() const {
  FL_RETURN_IF_ERROR(paths.Validate());
  FL_RETURN_IF_ERROR(correction.Validate());
  FL_RETURN_IF_ERROR(compression.Validate());
  if (max_candidates < 1) return InvalidArgument("crux: max_candidates: expected >= 1, found 0");
  if (!(level_hysteresis >= 0)) {
    return InvalidArgument(fmt::format("crux: level_hysteresis: expected >= 0, found {}", level_hysteresis));
  }
  if (!(fairness >= 0 && fairness <= 1)) {
    return InvalidArgument(fmt::format("crux: fairness: expected a fraction in [0, 1], found {}", fairness));
  }
  if (!(starvation_guard.value() >= 0)) {
    return InvalidArgument(fmt::format("crux: starvation_guard: expected >= 0 s, found {}", starvation_guard.value()));
  }
  return OkStatus();
}

}  // namespace fairlead::traffic::crux
