// A law of the live system that did not hold.
#pragma once

#include <string>

#include "base/sim_time.h"

namespace fairlead::sim::hosts {

struct Violation {
  SimTime at;
  std::string law;   // "a packet reaches its socket"
  std::string text;  // what happened, with names

  friend bool operator==(const Violation&, const Violation&) = default;
};

}  // namespace fairlead::sim::hosts
