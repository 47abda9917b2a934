// Packet spraying as the fluid model sees it.
#pragma once

#include "base/status.h"

namespace fairlead::traffic::spray {

// How a flow is divided over its equal-cost paths.
enum class Split {
  kAdaptive,   // by what the paths can carry: path-aware entropy values, adaptive routing in switches
  kOblivious,  // alike over all live paths, whatever they can carry
};

struct SprayOptions {
  Split split = Split::kAdaptive;
  // Share of a network link's payload that is left: retransmissions, reordering, probes of paths. In (0, 1]. MRC reached
  // 770 of 800 Gb/s.
  double efficiency = 0.96;

  // Errors: kInvalidArgument, naming the option, its range and what was found.
  Status Validate() const;
};

}  // namespace fairlead::traffic::spray
