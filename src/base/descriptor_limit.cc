#include "base/descriptor_limit.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>

namespace fairlead {
namespace {

std::string Describe(rlim_t limit) { return limit == RLIM_INFINITY ? "any number of" : fmt::format("{}", limit); }

}  // namespace

Result<uint64_t> RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("can't ask how many descriptors may be open: {}", std::strerror(errno)));
  }
  const rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (limit.rlim_cur != limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) != 0) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("may have {} descriptors open; can't raise that to the hard limit of {}: {}",
                              Describe(limit.rlim_cur), Describe(limit.rlim_max), std::strerror(errno)));
  }
  return raised.rlim_cur == RLIM_INFINITY ? UINT64_MAX : uint64_t{raised.rlim_cur};
}

std::string DescribeRaisedDescriptorLimit() {
  const Result<uint64_t> limit = RaiseDescriptorLimit();
  if (!limit.ok()) return limit.status().message();
  return fmt::format("may have {} descriptors open", Describe(static_cast<rlim_t>(*limit)));
}

}  // namespace fairlead
