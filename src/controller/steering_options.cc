#include "controller/steering_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace fairlead::controller {
namespace {

Status ExpectShare(const char* option, double found) {
  if (found >= 0 && found <= 1) return OkStatus();
  return InvalidArgument(fmt::format("steering: {}: expected 0..1, found {}", option, found));
}

}  // namespace

Status SteeringOptions::Validate() const {
  FL_RETURN_IF_ERROR(ExpectShare("max_job_share_per_day", max_job_share_per_day));
  FL_RETURN_IF_ERROR(ExpectShare("max_cluster_share_per_day", max_cluster_share_per_day));
  FL_RETURN_IF_ERROR(ExpectShare("suspect_fabric_share", suspect_fabric_share));
  FL_RETURN_IF_ERROR(ExpectShare("min_confidence", min_confidence));
  if (hold_off < SimDuration(0)) {
    return InvalidArgument(fmt::format("steering: hold_off: expected >= 0 s, found {} s", hold_off.seconds().value()));
  }
  return attempts.Validate();
}

std::string_view Name(SteeringMode mode) {
  static constexpr std::array<std::string_view, 3> kNames = {"observe", "recommend", "act"};
  return kNames.at(static_cast<size_t>(mode));
}

uint32_t RecommendedSpares(uint32_t num_hosts) {
  constexpr uint32_t kHostsPerSpare = 16;
  return std::max(1u, (num_hosts + kHostsPerSpare - 1) / kHostsPerSpare);
}

}  // namespace fairlead::controller
