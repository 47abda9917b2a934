// The clocks of an agent.
#pragma once

#include <chrono>
#include <ctime>

#include "base/sim_time.h"

namespace fairlead::service {

// Of what the agent's core is told: steady, from an arbitrary moment.
inline SimTime AgentClock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return SimTime(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// That the calling thread has had.
inline SimDuration ProcessorTime() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return SimDuration(time.tv_sec * 1'000'000'000 + time.tv_nsec);
}

}  // namespace fairlead::service
