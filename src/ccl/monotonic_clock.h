// The clock of the libraries for training processes. In the vDSO: no system call where the machine has a counter.
#pragma once

#include <cstdint>
#include <ctime>

namespace fairlead::ccl {

// Any of clock_gettime()'s clocks, in nanoseconds.
inline int64_t ReadClockNs(clockid_t clock) {
  timespec now = {};
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

inline int64_t NowNs() { return ReadClockNs(CLOCK_MONOTONIC); }

}  // namespace fairlead::ccl
