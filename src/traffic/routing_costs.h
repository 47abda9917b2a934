// What it costs that packets travel as they do, whatever the paths: part of the links' payload, time at the end of each
// message, and what is lost until failures are noticed.
#pragma once

#include "base/sim_time.h"

namespace fairlead::traffic {

struct RoutingCosts {
  double efficiency = 1;         // share of the payload of network links that is left, (0, 1]
  SimDuration detect = {};       // from the failure of a link until paths avoid it, >= 0
  SimDuration detect_port = {};  // the same for links between NICs and leaves, >= 0
  SimDuration reorder = {};      // from the last byte of a message on several paths until it is in order, >= 0

  bool detects_at_once() const { return detect == SimDuration() && detect_port == SimDuration(); }
  // Whether all are in their ranges.
  bool IsValid() const {
    return efficiency > 0 && efficiency <= 1 && detect >= SimDuration() && detect_port >= SimDuration() &&
           reorder >= SimDuration();
  }
};

}  // namespace fairlead::traffic
