// What may a running job be called? One rule for each place where a name comes in from outside.
//
// A name is chosen by a tenant (FAIRLEAD_JOB) and reaches logs, metrics, pages and the operator's programs, which may
// put it in a path or a command. Names in scenarios and traces of the simulator never do, and are free.
// Freestanding: also read by libraries that are loaded into processes of others.
#pragma once

#include <cstddef>
#include <string_view>

namespace fairlead::shm {

inline constexpr size_t kJobNameBytesMax = 128;
// As much as fits, with its zero byte, where a process writes its job's name (steering_messages.h, profiler_segment.h).
inline constexpr size_t kProcessJobNameBytesMax = 63;

// 1 to kJobNameBytesMax of A-Z a-z 0-9 . _ -
constexpr bool IsJobName(std::string_view name) {
  for (const char c : name) {
    const bool is_good =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    if (!is_good) return false;
  }
  return !name.empty() && name.size() <= kJobNameBytesMax;
}

// The same of a name that a process gives itself: a longer one than fits turns its libraries off.
constexpr bool IsProcessJobName(std::string_view name) {
  return IsJobName(name) && name.size() <= kProcessJobNameBytesMax;
}

}  // namespace fairlead::shm
