#include "controller/traffic_controller_options.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace fairlead::controller {
namespace {

Status OutOfRange(std::string_view option, std::string_view expected, const std::string& found) {
  return InvalidArgument(fmt::format("controller: {}: expected {}, found {}", option, expected, found));
}

}  // namespace

Status TrafficControllerOptions::Validate() const {
  const std::pair<std::string_view, SimDuration> durations[] = {{"heartbeat_period", heartbeat_period},
                                                                {"lease_ttl", lease_ttl},
                                                                {"level_period", level_period},
                                                                {"arrival_timeout", arrival_timeout},
                                                                {"probe_timeout", probe_timeout}};
  for (const auto& [name, value] : durations) {
    if (value <= SimDuration(0)) return OutOfRange(name, "> 0", fmt::format("{} ns", value.ns()));
  }
  if (num_levels < 1 || num_levels > 8) return OutOfRange("num_levels", "1 to 8", std::to_string(num_levels));
  if (!(measurement_weight > 0 && measurement_weight <= 1)) {
    return OutOfRange("measurement_weight", "(0, 1]", fmt::format("{}", measurement_weight));
  }
  if (!(order_error_probability > 0 && order_error_probability <= 0.5)) {
    return OutOfRange("order_error_probability", "(0, 0.5]", fmt::format("{}", order_error_probability));
  }
  if (probe_protocol != 6 && probe_protocol != 17) {
    return OutOfRange("probe_protocol", "6 or 17", std::to_string(probe_protocol));
  }
  if (probe_destination_port == 0) return OutOfRange("probe_destination_port", "1 to 65535", "0");
  return OkStatus();
}

}  // namespace fairlead::controller
