// Time that only goes on, for deadlines and durations of programs that work with real processes.
#pragma once

#include <chrono>

namespace fairlead {

// Since some instant before this process began.
inline double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace fairlead
