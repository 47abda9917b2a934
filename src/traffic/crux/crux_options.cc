#include "traffic/crux/crux_options.h"

namespace fairlead::traffic::crux {

Status CruxOptions::Validate() const {
  FL_RETURN_IF_ERROR(paths.Validate());
  FL_RETURN_IF_ERROR(correction.Validate());
  FL_RETURN_IF_ERROR(compression.Validate());
  if (max_candidates < 1) return InvalidArgument("crux: max_candidates: expected >= 1, found 0");
  return OkStatus();
}

}  // namespace fairlead::traffic::crux
