#include "traffic/c4p/c4p_options.h"

#include <fmt/format.h>

#include <string_view>

namespace fairlead::traffic::c4p {
namespace {

Status ExpectPositive(std::string_view option, SimDuration found) {
  if (found > SimDuration(0)) return OkStatus();
  return InvalidArgument(fmt::format("c4p: {}: expected > 0 s, found {} s", option, found.seconds().value()));
}

Status ExpectAtLeastOne(std::string_view option, uint64_t found) {
  return found >= 1 ? OkStatus() : InvalidArgument(fmt::format("c4p: {}: expected >= 1, found 0", option));
}

}  // namespace

Status C4pOptions::Validate() const {
  FL_RETURN_IF_ERROR(ExpectPositive("lease_ttl", lease_ttl));
  FL_RETURN_IF_ERROR(ExpectPositive("max_clock_step", max_clock_step));
  FL_RETURN_IF_ERROR(ExpectPositive("imbalance_period", imbalance_period));
  FL_RETURN_IF_ERROR(ExpectPositive("probe_period", probe_period));
  FL_RETURN_IF_ERROR(ExpectPositive("scan_timeout", scan_timeout));
  FL_RETURN_IF_ERROR(ExpectPositive("verify_period", verify_period));
  if (!(absence_probability > 0 && absence_probability < 1)) {
    return InvalidArgument(
        fmt::format("c4p: absence_probability: expected a number in (0, 1), found {}", absence_probability));
  }
  if (!(imbalance_limit >= 1)) {
    return InvalidArgument(fmt::format("c4p: imbalance_limit: expected >= 1, found {}", imbalance_limit));
  }
  if (imbalance_duration < SimDuration(0)) {
    return InvalidArgument(
        fmt::format("c4p: imbalance_duration: expected >= 0 s, found {} s", imbalance_duration.seconds().value()));
  }
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("max_scan_ports", max_scan_ports));
  FL_RETURN_IF_ERROR(ExpectAtLeastOne("epoch_base", epoch_base));
  FL_RETURN_IF_ERROR(ports.Validate());
  FL_RETURN_IF_ERROR(health.Validate());
  FL_RETURN_IF_ERROR(attribution.Validate());
  return probes.Validate();
}

}  // namespace fairlead::traffic::c4p
