// Everything the paper leaves open about Crux, in one place.
#pragma once

#include "base/status.h"
#include "traffic/crux/correction_factor.h"
#include "traffic/path_selection.h"
#include "traffic/crux/priority_compression.h"

namespace fairlead::traffic::crux {

struct CruxOptions {
  // Off: flows stay on the paths of their hashes (variant crux-pa).
  bool select_paths = true;
  PathSelectionOptions paths;
  CorrectionOptions correction;
  // Off: every job has its own level (variants crux-pa and crux-ps-pa); jobs past the last level of the fabric share
  // it.
  bool compress = true;
  CompressionOptions compression;
  // Equal-cost paths looked at per flow, spread evenly over all of them when there are more. >= 1. Fewer: faster plans,
  // more collisions.
  uint32_t max_candidates = 128;

  // All parts. Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::traffic::crux
