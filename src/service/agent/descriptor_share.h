// How the agent's descriptors (RLIMIT_NOFILE) are shared: the rest of the agent keeps half of them, but 256 at most; of
// what is left, questions of processes (steering_socket.h) and telemetry (segment_folder.h) have half each.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <limits>

namespace fairlead::service {

// Of each of the two; without a limit where the limit can't be read.
inline rlim_t DescriptorShare() {
  constexpr rlim_t kOfRest = 256;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<rlim_t>::max();
  return (limit.rlim_cur - std::min(kOfRest, limit.rlim_cur / 2)) / 2;
}

}  // namespace fairlead::service
